"""Sizes and ranges as people write them."""

import pytest

from pcielab import InputError
from pcielab.library.quantities import parse_range

DOUBLING = [64, 128, 256, 512, 1024, 2048, 4096]


@pytest.mark.parametrize(
    "text, sizes",
    [
        ("64:4K:x2", DOUBLING),
        ("64:5000:X2", DOUBLING),
        ("1:100:x10", [1, 10, 100]),
        ("64:64:x2", [64]),
        ("60,64:256:x2,5:7", [60, 64, 128, 256, 5, 6, 7]),
        ("64:128:32", [64, 96, 128]),
    ],
)
def test_a_range_adds_or_multiplies(text: str, sizes: list[int]) -> None:
    assert parse_range(text, "--sizes") == sizes


@pytest.mark.parametrize(
    "text, remedy",
    [
        ("64-1500", "a range has a colon: give 64:1500"),
        ("64-4K:x2", "a range has a colon: give 64:4K:x2"),
        ("64:4K:x1", "give a whole factor from 2, as in 64:4K:x2"),
        ("64:4K:x", "give a whole factor from 2, as in 64:4K:x2"),
        ("4K:64:x2", "give first:last, first:last:step or first:last:xFACTOR, first <= last"),
        ("64:4K:x2:3", "is not a size"),
    ],
)
def test_a_wrong_range_names_the_remedy(text: str, remedy: str) -> None:
    with pytest.raises(InputError, match=remedy):
        parse_range(text, "--sizes")
