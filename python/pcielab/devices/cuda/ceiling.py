"""The bound of a GPU's link: data above it did not cross the link."""

from functools import cache

from pcielab.devices.facts import LinkFacts

_OF_RATE = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
_FLITS_FROM = 6
_MARGIN = 1.002
"""Tolerance above a bound: steps of a clock, over some milliseconds."""
_READ = {"bw-rd": "read", "bw-wr": "write", "bw-rdwr": "rdwr"}


@cache
def ceiling_gbps(link: LinkFacts, operation: str, size_bytes: int) -> float | None:
    """The wire bound of the link by the specification, Gb/s in one direction; None if unknown."""
    from pcielab import model

    if link.rate_gtps not in _OF_RATE or link.lanes is None:
        return None
    # Unknown MPS and MRRS count as the largest, which give the highest bound.
    generation = _OF_RATE[link.rate_gtps]
    asked = model.Link(
        generation=generation,
        flit_mode=generation >= _FLITS_FROM,
        lanes=link.lanes,
        mps_bytes=link.mps_bytes or 4096,
        mrrs_bytes=link.mrrs_bytes or 4096,
    )
    [row] = model.bandwidth(asked, [size_bytes])
    return float(getattr(row, _READ[operation]).gbps)


def check_ceiling(
    link: LinkFacts | None, operation: str, size_bytes: int, transactions: int, elapsed_ns: float
) -> None:
    """Check a slice of a bandwidth test against the bound of its link.

    Raises:
        RuntimeError: The bandwidth is above the bound.
    """
    most = None if link is None else ceiling_gbps(link, operation, size_bytes)
    if most is None:
        return
    counted = transactions / 2 if operation == "bw-rdwr" else transactions
    found = 8 * size_bytes * counted / elapsed_ns
    if found > most * _MARGIN:
        raise RuntimeError(
            f"{found:.2f} Gb/s is above the bound of the link, {most:.2f} Gb/s: part of it did not cross the "
            "link: the GPU may have answered from a cache"
        )
