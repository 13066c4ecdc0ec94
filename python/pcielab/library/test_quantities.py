"""Sizes and ranges as people write them."""

import pytest

from pcielab import InputError
from pcielab.library.quantities import parse_counts, parse_range

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


def test_counts_are_lists_and_ranges_from_0() -> None:
    assert parse_counts("3", "--load", 64) == [3]
    assert parse_counts("0, 3,6", "--load", 64) == [0, 3, 6]
    assert parse_counts("0:6:2,64", "--load", 64) == [0, 2, 4, 6, 64]


@pytest.mark.parametrize("wrong", ["", "-1", "6:3", "0:6:0", "65", "1.5", "0:1:2:3", "4K"])
def test_refuses_what_is_no_count(wrong: str) -> None:
    with pytest.raises(InputError, match=r"--load: .* is not a count: give 0 to 64, as in 3, 0,3,6 or 0:6"):
        parse_counts(wrong, "--load", 64)
