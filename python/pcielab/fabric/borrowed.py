"""Capacities that no register shows, borrowed from published figures of other machines: each names its rows.

The rows are those of `pcielab.library.published_figures`. A borrowed value says what such a machine may do, and
is no prediction for the reader's: the text of each says where it was measured.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from pcielab.library.published_figures import PublishedFigure, published_figures

PathKind: TypeAlias = Literal["same-switch", "same-stack", "other-stack", "other-socket"]
Operation: TypeAlias = Literal["posted", "non-posted"]
_SMALL_MRRS_BYTES = 128
"""MRRS of the virtual functions of the rows with small read requests."""


@dataclass(frozen=True)
class Borrowed:
    """A value of other machines.

    Attributes:
        value: The value: GB/s or ns.
        rows: The ids of its rows.
        text: What was measured, where.
        is_limit: Whether it bounds; otherwise the rows reached it without reaching a limit of the path.
    """

    value: float
    rows: tuple[str, ...]
    text: str
    is_limit: bool = True


def peer_gbytes_per_s(
    kind: PathKind, operation: Operation, link_gbytes_per_s: float, *, small_requests: bool = False
) -> Borrowed:
    """The capacity of one flow between two devices beside that of its links.

    Writes across stacks, and everything on one stack, reached the line rate of the NIC that the rows were
    measured with: they bound nothing. Of writes across sockets there is only the loss against one socket, in a
    ring of GPUs.

    Args:
        kind: What is between the devices.
        operation: `posted`: the source writes; `non-posted`: the destination reads.
        link_gbytes_per_s: The narrowest link between them.
        small_requests: Whether the reader's MRRS is 128 B.
    """
    if kind == "other-socket" and operation == "posted":
        return _lost(link_gbytes_per_s, "M113", "M112")
    if kind == "other-socket" and not small_requests:
        # No row has reads with large requests: the loss of small ones stands for it.
        return _lost(_borrowed("M062").value, "M061", "M060", "M062")
    row, is_limit = _PEERS[kind, operation]
    return _borrowed(_SMALL_REQUESTS.get(row, row) if small_requests else row, is_limit=is_limit)


@cache
def stack_crossing_ns() -> Borrowed:
    """One way from one stack to another: half of what the round trip takes more."""
    return _borrowed("M065", scale=0.5)


def are_small(mrrs_bytes: int | None) -> bool:
    """Whether read requests are as small as those of the rows of virtual functions."""
    return mrrs_bytes is not None and mrrs_bytes <= _SMALL_MRRS_BYTES


_PEERS: dict[tuple[PathKind, Operation], tuple[str, bool]] = {
    ("same-switch", "posted"): ("M059", False),
    ("same-switch", "non-posted"): ("M059", False),
    ("same-stack", "posted"): ("M059", False),
    ("same-stack", "non-posted"): ("M059", False),
    ("other-stack", "posted"): ("M063", False),
    ("other-stack", "non-posted"): ("M062", True),
    ("other-socket", "non-posted"): ("M061", True),
}
_SMALL_REQUESTS = {"M062": "M060"}
"""Rows with read requests of 128 B, by the row with large ones."""
_SCALES = {"GB/s": 1.0, "Gb/s": 1 / 8, "us": 1e3, "ns": 1.0}


def _borrowed(row: str, *, scale: float = 1.0, is_limit: bool = True) -> Borrowed:
    figure = published_figures()[row]
    return Borrowed(figure.value * _SCALES[figure.unit] * scale, (row,), f"{row}: {_measured(figure)}", is_limit)


def _lost(value: float, far: str, near: str, *of: str) -> Borrowed:
    """A value times the ratio of two rows."""
    rows = published_figures()
    share = rows[far].value / rows[near].value
    text = f"{' '.join((*of, 'x')) if of else 'the links x'} {far} / {near}: {_measured(rows[far])}"
    return Borrowed(value * share, (*of, far, near), text)


def _measured(figure: PublishedFigure) -> str:
    where = ", ".join(part for part in (figure.cpu, figure.device) if part)
    return f"{figure.quantity}, {figure.value:g} {figure.unit} ({where})"
