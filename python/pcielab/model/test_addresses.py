"""Bounds of buffers on both sides of 4 GiB lie between those of the two lengths of addresses."""

import pytest
from hypothesis import given, strategies as st

from pcielab import model
from pcielab.model.addresses import low_share, with_addresses
from pcielab.model.answers import Answer

LINK = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
LOW, HIGH = 1 << 30, 1 << 40


def writes(link: model.Link) -> list[Answer]:
    return [row.write for row in model.bandwidth(link, [8, 64, 300])]


@pytest.mark.parametrize(
    ("addresses", "window_bytes", "share"),
    [
        ([], None, 0.0),
        ([LOW], None, 1.0),
        ([HIGH, LOW], None, 0.5),
        ([HIGH, LOW], 4096, 0.0),
        ([HIGH, LOW], 4097, 1 / 4097),
        ([HIGH, LOW], 1 << 30, 0.5),
        ([LOW, HIGH], 6144, 2 / 3),
    ],
)
def test_low_share_counts_bytes(addresses: list[int], window_bytes: int | None, share: float) -> None:
    assert low_share(addresses, 4096, window_bytes) == pytest.approx(share)


@given(st.floats(0, 1))
def test_a_mixture_takes_the_mean_time(low: float) -> None:
    short, long = ([answer.gbps for answer in with_addresses(LINK, end, writes)] for end in (1.0, 0.0))
    mixed = with_addresses(LINK, low, writes)
    for one, fast, slow in zip(mixed, short, long, strict=True):
        assert 1 / one.gbps == pytest.approx(low / fast + (1 - low) / slow)
        assert (one.ceilings[0].gbps, one.ceilings[0].slack) == (one.gbps, 0.0)
        assert all(ceiling.gbps >= one.gbps for ceiling in one.ceilings)


def test_one_length_needs_no_mixture() -> None:
    assert with_addresses(LINK, 0.0, writes) == writes(LINK)
