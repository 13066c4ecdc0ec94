"""The bandwidth tests of a run, each with the bound that binds it."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from pcielab import model
from pcielab.errors import found_in, refusal
from pcielab.kinds.explained import (
    MARKED_BELOW,
    NO_KNOWN_CAUSE,
    Explained,
    ExplainedRun,
    Limit,
    check_has,
    counted_tests,
    matching,
)
from pcielab.kinds.machine_facts import MachineFacts, facts_of, no_link
from pcielab.kinds.measured_link import LSPCI, link_is_known
from pcielab.kinds.rooms import Explain
from pcielab.kinds.transfers.bounds import RoundTrip, TestBounds, bounds_of_tests, scalar
from pcielab.kinds.transfers.latencies import explain_latencies
from pcielab.kinds.transfers.reasons import reasons
from pcielab.kinds.transfers.sweeps import Sweep, sweeps_of
from pcielab.notebook import Pictured
from pcielab.store import Store
from pcielab.store.manifest import extrapolated_of

if TYPE_CHECKING:
    from pcielab.kinds.question import Question

NO_LINK = "no PCIe link: the device has none, like a core of the host, or does not report it: no link bounds"
EXCEEDED_FROM = 1.01
"""Share of the binding bound from which a steady simulated value contradicts the model."""
_STEADY_TRANSACTIONS = 1 << 16
"""Transfers with which a test is steady: the bound is an average over addresses, so shorter tests scatter about
it, as the average of fewer random draws does."""
CHANGED_OR_WRONG = "the store was changed, or pcielab is wrong"
"""What a value is a sign of that contradicts the model."""
TOO_SHORT = (
    f"as tests of fewer than {_STEADY_TRANSACTIONS:,} transfers may: the bound is an average, about which short "
    "tests scatter; give them more transactions"
)
"""Why a value of a short test may be above its bound."""
_UNKNOWN_LINK = f"unknown link, so no bounds: import a folder that holds {LSPCI} (`lspci -vvv`, as root)"
_ASKED_OF_BANDWIDTHS = ("operation", "size_bytes", "window_bytes", "cache", "outstanding")
_NEEDED = ("operation", "size_bytes", "window_bytes", "host_offset_bytes", "pattern")
"""Parameters that the bound of a bandwidth depends on."""
_SHOWN_ROWS = 12
_DIRECTIONS = {
    "wire-upstream": "upstream",
    "device-port": "upstream",
    "wire-downstream": "downstream",
    "root-port": "downstream",
}
"""The direction of a link that is full where a bound binds: with TLPs, or with what a port sends besides."""


@dataclass(frozen=True)
class Row:
    """A bandwidth test with its bounds.

    Attributes:
        test: The test's `id`.
        family: Its family.
        name: Its published name.
        parameters: Its parameters.
        value_gbps: Measured or simulated bandwidth; one direction's where the test reads and writes.
        answer: The modelled bounds, tightest first.
        round_trip: Round trip charged to tags; None if unknown, and for writes.
        reasons: Possible causes of a value well below the bound, or above it.
        simulated: Whether value and bounds are of the same profile, so that no value may exceed them.
        flit_fill: In flit mode, the share of flits that TLPs fill in each direction at the binding bound.
    """

    test: int
    family: str
    name: str
    parameters: Mapping[str, Any]
    value_gbps: float
    answer: model.Answer
    round_trip: RoundTrip | None
    reasons: tuple[str, ...]
    simulated: bool = False
    flit_fill: Mapping[str, float] = field(default_factory=dict)

    @property
    def exceeds_bound(self) -> bool:
        """Whether a simulated value contradicts the model: its store was changed, or one of the two is wrong."""
        return self.simulated and self.share >= 1 + (EXCEEDED_FROM - 1) * self._scatter

    @property
    def above_for_a_short_test(self) -> bool:
        """Whether a simulated value is above its bound by no more than a test of so few transfers scatters."""
        return self.simulated and self.share >= EXCEEDED_FROM and not self.exceeds_bound

    @property
    def _scatter(self) -> float:
        """Scatter of a test of this length, relative to a steady one's; at least 1."""
        transactions = self.parameters.get("transactions") or _STEADY_TRANSACTIONS
        return math.sqrt(max(1.0, _STEADY_TRANSACTIONS / transactions))

    @property
    def size_bytes(self) -> int:
        """Transfer size."""
        return int(self.parameters["size_bytes"])

    @property
    def share(self) -> float:
        """The value as a share of the binding bound."""
        return self.value_gbps / self.answer.gbps


@dataclass(frozen=True)
class Explanation(Pictured):
    """A run's explained rows, the facts of its machine, notes on omissions, and sweeps of reads.

    Without a PCIe link there are no rows and no facts: no bound of a link applies.

    Attributes:
        described: Title and origin of the run.
    """

    rows: list[Row]
    facts: MachineFacts | None
    notes: list[str]
    sweeps: list[Sweep] = field(default_factory=list)
    described: str = ""

    def _repr_html_(self) -> str:
        head = "<tr><th>test</th><th>size (B)</th><th>Gb/s</th><th>bound</th><th>share</th></tr>"
        rows = "".join(
            f"<tr><td>{escape(row.name)}</td><td>{row.size_bytes}</td><td>{row.value_gbps:.2f}</td>"
            f"<td>{escape(row.answer.bound)}: {row.answer.gbps:.2f} Gb/s</td><td>{row.share:.1%}</td></tr>"
            for row in self.rows[:_SHOWN_ROWS]
        )
        more = f"<p>and {len(self.rows) - _SHOWN_ROWS} more</p>" if len(self.rows) > _SHOWN_ROWS else ""
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<div><strong>{escape(self.described)}</strong><table>{head}{rows}</table>{more}{notes}</div>"


def explain_run(store: Store, tests: Sequence[str] = ()) -> Explanation:
    """Find the binding bound of each bandwidth test of a run.

    Args:
        store: The run.
        tests: Only these: numbers of tests, or parts of their family or name. All, if empty.

    Raises:
        InputError: The store's link is unknown, or a text of `tests` matches no test.
    """
    store.require_kind("transfers", "a bound of bandwidths")
    records = list(store.records())
    wanted = set(matching(store, tests))
    chosen = [record for record in records if record["id"] in wanted]
    if no_link(store):
        return Explanation([], None, [NO_LINK], sweeps_of(chosen, {}), store.described)
    facts = facts_of(store)
    explained = [record for record in chosen if scalar(record, "bandwidth") is not None]
    for record in explained:
        check_has({"id": record["id"], **record["parameters"]}, _NEEDED, store.path)
    with found_in(store.path):
        bounds = bounds_of_tests(facts, [record["parameters"] for record in explained], records)
    rows = [row_of(facts, record, found) for record, found in zip(explained, bounds, strict=True) if found]
    notes = [
        *extrapolated_of(store.manifest),
        *facts.missing,
        *_left_out(chosen),
        *_without_tags(rows),
        *_beyond_bounds(rows),
    ]
    sweeps = sweeps_of(chosen, {row.test: _wire_gbps(row) for row in rows})
    return Explanation(rows, facts, notes, sweeps, store.described)


def _wire_gbps(row: Row) -> float:
    return min(ceiling.gbps for ceiling in row.answer.ceilings if ceiling.bound.startswith("wire"))


def row_of(facts: MachineFacts, record: Mapping[str, Any], found: TestBounds) -> Row:
    """The row of a bandwidth test's record and its bounds."""
    parameters, bounds, round_trip = record["parameters"], found.answer, found.round_trip
    value_gbps = float(scalar(record, "bandwidth") or 0.0)
    why = _replays(found, flit=facts.link.flit)
    if value_gbps < MARKED_BELOW * bounds.gbps:
        why += reasons(facts, parameters, tags_charged=round_trip is not None)
        why = why or [NO_KNOWN_CAUSE]
    elif value_gbps > bounds.gbps and bounds.bound == "tags" and facts.system is None:
        why += ["the latency charged to tags includes the device's own time"]
    fill = _flit_fill(bounds) if facts.link.flit else {}
    if fill and (full := _DIRECTIONS.get(bounds.bound)):
        why.append(f"flit fill: flits {full} are full; TLPs take {100 * fill[full]:.1f} % of the bytes for TLPs")
    return Row(
        test=record["id"],
        family=record["family"],
        name=record["name"],
        parameters=parameters,
        value_gbps=value_gbps,
        answer=bounds,
        round_trip=round_trip,
        reasons=tuple(why),
        simulated=facts.system is not None,
        flit_fill=fill,
    )


def _replays(found: TestBounds, *, flit: bool) -> list[str]:
    """The cost of replays to the direction that is full, if anything on the link arrives damaged."""
    direction = _DIRECTIONS.get(found.answer.bound)
    if found.replays is None or direction is None:
        return []
    loss = found.replays.upstream if direction == "upstream" else found.replays.downstream
    items = "flits" if flit else "TLPs"
    return [
        f"replays: one in {1 / loss.error_rate:,.0f} {items} arrives damaged, and its replay takes "
        f"{loss.lost_ns:.1f} ns, together {100 * loss.share:.2g} % of the time {direction}"
    ]


def _flit_fill(answer: model.Answer) -> dict[str, float]:
    """The share of flits that TLPs fill in each direction at the rate of an answer; NOPs fill the rest."""
    wires = {one.bound.removeprefix("wire-"): one for one in answer.ceilings if one.bound.startswith("wire-")}
    return {direction: answer.gbps / wire.gbps for direction, wire in wires.items()}


def _beyond_bounds(rows: Sequence[Row]) -> Iterator[str]:
    for numbers, separator, why in (
        (
            [row.test for row in rows if row.exceeds_bound],
            ": ",
            f"{CHANGED_OR_WRONG}: make the run again, and report the values that stay above",
        ),
        ([row.test for row in rows if row.above_for_a_short_test], ", ", TOO_SHORT),
    ):
        if numbers:
            values = "value exceeds its" if len(numbers) == 1 else "values exceed their"
            yield (
                f"{len(numbers)} simulated {values} bound by {100 * (EXCEEDED_FROM - 1):.0f} % or more "
                f"(test {numbers[0]} is the first){separator}{why}"
            )


def _left_out(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    kinds = Counter(
        record["status"]
        if record["status"] != "ok"
        else "latency"
        if record["parameters"]["operation"].startswith("lat-")
        else "explained"
        for record in records
    )
    if kinds["latency"]:
        many = counted_tests(kinds["latency"])
        yield f"{many} of latency left out: choose them with --test, for example --test LAT"
    for status, count in sorted(kinds.items()):
        if status not in ("latency", "explained"):
            yield f"{counted_tests(count)} without a result left out ({status})"


def _without_tags(rows: Sequence[Row]) -> Iterator[str]:
    count = sum(row.round_trip is None and row.parameters["operation"] != "bw-wr" for row in rows)
    if count:
        many = counted_tests(count)
        yield f"{many} without a bound from tags: the run has no latency of reads of that size or less"


def explained_bandwidths(store: Store, tests: Sequence[str]) -> ExplainedRun:
    """`explain_run` as rows like those of other kinds."""
    explanation = explain_run(store, tests)
    return ExplainedRun([_of_transfers(row) for row in explanation.rows], "transfers", explanation.notes)


def _explain_others(store: Store, tests: Sequence[int]) -> ExplainedRun:
    """Bandwidths without the bounds of a link, or latencies."""
    return (_without_link if _has_bandwidths(store, tests) else explain_latencies)(store, tests)


def _has_link_bounds(store: Store, tests: Sequence[int]) -> bool:
    if not _has_bandwidths(store, tests):
        return False
    return not no_link(store) and bool(store.manifest.get("system") or link_is_known(store))


def _has_bandwidths(store: Store, tests: Sequence[int]) -> bool:
    chosen, rows = {*tests}, [*store.test_rows()]
    if not any("operation" in row for row in rows):
        raise refusal(
            "missing", f"{store.path}: its tests have no `operation`: give a run that this version can read"
        )
    return any(str(row.get("operation")).startswith("bw-") for row in rows if row["id"] in chosen)


def _without_link(store: Store, tests: Sequence[int]) -> ExplainedRun:
    """The bandwidths of a device without a PCIe link, or of one that does not report it."""
    rows = [
        Explained(
            test=record["id"],
            family=record["family"],
            name=record["name"],
            asked={key: record["parameters"][key] for key in _ASKED_OF_BANDWIDTHS},
            value=value,
            unit="Gb/s",
        )
        for record in store.records()
        if record["id"] in tests and (value := scalar(record, "bandwidth")) is not None
    ]
    if no_link(store):
        return ExplainedRun(rows, "a device without a PCIe link", [NO_LINK])
    return ExplainedRun(rows, "a device whose link is unknown", [_UNKNOWN_LINK])


def _of_transfers(row: Row) -> Explained:
    return Explained(
        test=row.test,
        family=row.family,
        name=row.name,
        asked={key: row.parameters[key] for key in _ASKED_OF_BANDWIDTHS},
        value=row.value_gbps,
        unit="Gb/s",
        limits=tuple(Limit(ceiling.bound, ceiling.gbps) for ceiling in row.answer.ceilings),
        parts={"round_trip_ns": row.round_trip.ns if row.round_trip else None}
        | {f"{direction}_flit_fill": share for direction, share in row.flit_fill.items()},
        reasons=row.reasons,
    )


def _questions(store: Store, tests: Set[int]) -> "Iterator[Question]":
    from pcielab.kinds.transfers.questions import transfer_questions

    return transfer_questions(store, tests)


EXPLAIN = Explain(
    rows=_explain_others,
    told=("size_bytes", "window_bytes", "cache"),
    has_link_bounds=_has_link_bounds,
    simulated_again=True,
    questions=_questions,
)
