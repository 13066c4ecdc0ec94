"""Capacities that no register shows, borrowed from published figures of other machines: each names its rows.

The rows are those of `pcielab.library.published_figures`. A borrowed value says what such a machine may do, and
is no prediction for the reader's: the text of each says where it was measured.
"""

from collections.abc import Callable
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
    """

    value: float
    rows: tuple[str, ...]
    text: str


@cache
def peer_gbytes_per_s(kind: PathKind, operation: Operation, *, small_requests: bool = False) -> Borrowed:
    """The capacity of one flow between two devices.

    Args:
        kind: What is between them.
        operation: `posted`: the source writes; `non-posted`: the destination reads.
        small_requests: Whether the reader's MRRS is 128 B.
    """
    rows, combine = _PEERS[kind, operation, small_requests and operation == "non-posted"]
    return _borrowed(rows, combine)


@cache
def stack_crossing_ns() -> Borrowed:
    """One way from one stack to another: half of what the round trip takes more."""
    return _borrowed(("M065",), lambda round_trip_ns: round_trip_ns / 2)


@cache
def memory_gbytes_per_s(direction: Literal["read", "write"]) -> Borrowed:
    """What a socket's memory and the way to it carry when four Gen5 x16 devices copy at once."""
    row = "M230" if direction == "read" else "M341"
    return _borrowed((row,), lambda each: 4 * each)


def small_requests(mrrs_bytes: int | None) -> bool:
    """Whether read requests are as small as those of the rows of virtual functions."""
    return mrrs_bytes is not None and mrrs_bytes <= _SMALL_MRRS_BYTES


Combine: TypeAlias = Callable[..., float]


def _first(value: float, *_: float) -> float:
    return value


def _in_proportion(value: float, far: float, near: float) -> float:
    return value * far / near


_PEERS: dict[tuple[PathKind, Operation, bool], tuple[tuple[str, ...], Combine]] = {
    ("same-switch", "posted", False): (("M059",), _first),
    ("same-switch", "non-posted", False): (("M059",), _first),
    ("same-switch", "non-posted", True): (("M059",), _first),
    ("same-stack", "posted", False): (("M059",), _first),
    ("same-stack", "non-posted", False): (("M059",), _first),
    ("same-stack", "non-posted", True): (("M059",), _first),
    ("other-stack", "posted", False): (("M063",), _first),
    ("other-stack", "non-posted", False): (("M062",), _first),
    ("other-stack", "non-posted", True): (("M060",), _first),
    # No row has writes from the other socket, or reads with large requests: the loss of other rows stands for it.
    ("other-socket", "posted", False): (("M063", "M113", "M112"), _in_proportion),
    ("other-socket", "non-posted", False): (("M062", "M061", "M060"), _in_proportion),
    ("other-socket", "non-posted", True): (("M061",), _first),
}
_SCALES = {"GB/s": 1.0, "Gb/s": 1 / 8, "us": 1e3, "ns": 1.0}


def _borrowed(rows: tuple[str, ...], combine: Combine) -> Borrowed:
    figures = [published_figures()[row] for row in rows]
    value = combine(*(figure.value * _SCALES[figure.unit] for figure in figures))
    ratio = f" x {rows[1]} / {rows[2]}" if len(rows) > 1 else ""
    return Borrowed(value, rows, f"{rows[0]}{ratio}: {_measured(figures[0])}")


def _measured(figure: PublishedFigure) -> str:
    where = ", ".join(part for part in (figure.cpu, figure.device) if part)
    return f"{figure.quantity}, {figure.value:g} {figure.unit} ({where})"
