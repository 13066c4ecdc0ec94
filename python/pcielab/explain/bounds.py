"""The bounds of one bandwidth test: the model's, given the run's own link, latencies and card.

Every bound is meant to hold: where a fact is not known exactly, the value is taken that allows more. So tags are
charged with a median latency without what the card does before it sends and after it received, and with the wait
in a busy root complex on top, where a profile says how much both are. Without a profile it is the median as it is.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pcielab import model
from pcielab.explain.facts import Facts
from pcielab.profiles.part import INFINITE
from pcielab.profiles.system import System

_RATE_OF = {"bw-rd": "read", "bw-wr": "write", "bw-rdwr": "rdwr"}


@dataclass(frozen=True)
class RoundTrip:
    """How long a read request holds its tag, and the latency row that says so."""

    ns: float
    source: str


class Latencies:
    """The latencies of reads in a run: those of aligned transfers, by size."""

    def __init__(self, records: Iterable[Mapping[str, Any]], system: System | None) -> None:
        self._rows: dict[int, list[tuple[Mapping[str, Any], RoundTrip]]] = {}
        self._busy_ns = _busy_ns(system)
        for record in records:
            parameters = record["parameters"]
            if parameters["operation"] != "lat-rd" or _is_unaligned(parameters):
                continue
            median = scalar(record, "median")
            if median is None or median - _card_ns(parameters, system) <= 0:
                continue
            source = f"{record['name']} {parameters['size_bytes']} B, test {record['id']}"
            held = RoundTrip(median - _card_ns(parameters, system), source)
            self._rows.setdefault(parameters["size_bytes"], []).append((parameters, held))

    def round_trip(self, test: Mapping[str, Any], request_bytes: int) -> RoundTrip | None:
        """The round trip of a request of a test; None if the run has no latency of a request as long, or shorter.

        Rows of the test's own window and cache state come first; of several, the fastest.
        """
        size = max((size for size in self._rows if size <= request_bytes), default=None)
        if size is None:
            return None
        rows = self._rows[size]
        alike = [
            held
            for parameters, held in rows
            if all(parameters[key] == test[key] for key in ("cache", "window_bytes"))
        ]
        idle = min(alike or [held for _, held in rows], key=lambda held: held.ns)
        # Few requests in flight may find the root complex idle.
        return idle if test["outstanding"] is not None else replace(idle, ns=idle.ns + self._busy_ns)


def scalar(record: Mapping[str, Any], metric: str) -> float | None:
    """A number of a test as a whole, if it has it."""
    if record["status"] != "ok":
        return None
    for row in record["scalars"]:
        if row["metric"] == metric and not row["subject"]:
            return float(row["value"])
    return None


def answer(
    facts: Facts, test: Mapping[str, Any], round_trip: RoundTrip | None, card_interval_ns: float | None
) -> model.Answer:
    """Every bound that a bandwidth test meets, tightest first.

    Args:
        facts: The machine.
        test: The test's parameters.
        round_trip: How long a read request holds its tag.
        card_interval_ns: The least time between two DMAs that the card allows; between two pairs of a read and a
            write where the test does both.
    """
    operation = test["operation"]
    [row] = model.bandwidth(
        facts.model_link(test["window_bytes"]),
        [test["size_bytes"]],
        limits=_limits(facts, test, round_trip, card_interval_ns),
        offset_bytes=test["host_offset_bytes"],
    )
    found: model.Answer = getattr(row, _RATE_OF[operation])
    return found


def _limits(
    facts: Facts, test: Mapping[str, Any], round_trip: RoundTrip | None, card_interval_ns: float | None
) -> model.Limits:
    operation = test["operation"]
    reads = operation != "bw-wr"
    dmas = 2 if operation == "bw-rdwr" else 1
    outstanding = [test["outstanding"], facts.system.device.dma.outstanding if facts.system else None]
    in_flight = [count for count in outstanding if count is not None]
    complex_ = facts.system.host.root_complex if facts.system else None
    return model.Limits(
        round_trip_ns=round_trip.ns if reads and round_trip else None,
        tags=facts.link.tags if reads and round_trip else None,
        # A write is done for the card when it has left: it does not wait for a round trip.
        dmas_in_flight=min(in_flight) if in_flight and round_trip and operation == "bw-rd" else None,
        device_mdmas_per_s=1_000 * dmas / card_interval_ns if card_interval_ns else None,
        posted_header_credits=_finite(complex_.posted_header_credits) if complex_ else None,
        posted_data_credits=_finite(complex_.posted_data_credits) if complex_ else None,
        non_posted_header_credits=_finite(complex_.non_posted_header_credits) if complex_ else None,
        credit_return_ns=complex_.flight_ns + complex_.credit_return_ns if complex_ else None,
    )


def _finite(advertised: int | Literal["infinite"]) -> int | None:
    """Credits as a limit: without one, they do not bind."""
    return None if advertised == INFINITE else advertised


def _is_unaligned(test: Mapping[str, Any]) -> bool:
    return bool(test["host_offset_bytes"] or test["device_offset_bytes"])


def _card_ns(test: Mapping[str, Any], system: System | None) -> float:
    """What of a read's latency the card itself takes, at most: known where there is a profile."""
    if system is None:
        return 0.0
    size_bytes: int = test["size_bytes"]
    if test["path"] == "command":
        command = system.device.command
        return command.read_overhead_ns + command.read_byte_ns * size_bytes if command else 0.0
    path = system.device.dma
    segments = math.ceil(size_bytes / path.engine.segment_bytes)
    part_ns = path.partial_word_ns if size_bytes % path.engine.word_bytes else 0.0
    return path.read_overhead_ns + path.engine.read_fixed_ns + segments * path.engine.segment_ns + part_ns


def _busy_ns(system: System | None) -> float:
    """What a request waits longer where others are in flight than in a latency test, at least."""
    if system is None:
        return 0.0
    complex_, memory = system.host.root_complex, system.host.memory
    return complex_.busy_read_ns - complex_.read_ns + min(0.0, memory.busy_miss_ns - memory.miss_ns)
