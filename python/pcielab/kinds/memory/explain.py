"""Lines of a memory expander: the bounds of the closed form, the load that cores offer, and their lines in flight.

The bound of lines in flight is Little's law over the run's own lines: the rate if every fill buffer were in use,
each for as long as a line takes here.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from pcielab import model
from pcielab._core import Width
from pcielab.kinds.explained import Explained, ExplainedRun, Limit, check_has
from pcielab.kinds.memory.rows import STATIONS, expander_of_run, rows_of
from pcielab.kinds.question import Question, Value, What
from pcielab.kinds.rooms import Explain
from pcielab.library.expanders import ExpanderProfile
from pcielab.store import Store

DEMAND = "own-demand"
_LINE_BYTES = 64
_ASKED = ("expander", "read_share", "load", "cores", "fill_buffers")
_SAID_NS = 1.0
"""Least mean wait that a reason names."""


def explain_memory(store: Store, tests: Sequence[int]) -> ExplainedRun:
    """The loads of an expander's run among `tests`, each with its limits."""
    profile = expander_of_run(store.manifest, store.path)
    rows = [_row(row, profile, store) for row in rows_of(store) if int(row["id"]) in tests]
    link = profile.link
    about = f"{profile.name} on CXL, Gen{link.generation} x{link.lanes}, flits of {link.flit_bytes} B"
    return ExplainedRun(rows, about, [])


def _row(row: Mapping[str, Any], profile: ExpanderProfile, store: Store) -> Explained:
    check_has(row, (*_ASKED, "bandwidth"), store.path)
    limits = sorted(_limits(row, profile), key=lambda limit: limit.value)
    return Explained(
        test=int(row["id"]),
        family=row["family"],
        name=row["name"],
        asked={key: row[key] for key in _ASKED},
        value=row["bandwidth"],
        unit="Gb/s",
        limits=tuple(limits),
        parts={
            "average_ns": row.get("average"),
            "modelled_ns": row.get("modelled_average"),
            **{
                f"{station.replace('-', '_')}_wait_ns": row["stations"].get(f"{station} wait")
                for station in STATIONS
            },
        },
        reasons=tuple(_reasons(row)),
    )


def _limits(row: Mapping[str, Any], profile: ExpanderProfile) -> Iterator[Limit]:
    [rates] = model.expander(profile, [row["read_share"]])
    for name, gbytes_per_s in rates.ceilings.items():
        yield Limit(name, 8 * gbytes_per_s)
    if "offered_bandwidth" in row:
        yield Limit(DEMAND, row["offered_bandwidth"])
    in_flight = row.get("in_flight")
    # At load 0, one read at a time is the test.
    buffers = 1 if row["load"] == 0 else row["cores"] * row["fill_buffers"]
    if in_flight:
        yield Limit("lines-in-flight", row["bandwidth"] * buffers / in_flight)


def _reasons(row: Mapping[str, Any]) -> Iterator[str]:
    waits = {station: row["stations"].get(f"{station} wait", 0.0) for station in STATIONS}
    longest = max(waits, key=lambda station: waits[station])
    if waits[longest] >= _SAID_NS:
        yield f"a read waits {waits[longest]:.1f} ns for {longest}, of {row['average']:.1f} ns"


def questions(store: Store, tests: Set[int]) -> Iterator[Question]:
    """The bandwidths at the highest load; latencies are beyond the host, those of others include it."""
    profile = expander_of_run(store.manifest, store.path)
    width = Width(profile.link.generation, profile.link.lanes, 1)
    rows = [row for row in rows_of(store) if int(row["id"]) in tests]
    highest = max((row["load"] for row in rows), default=0.0)
    for row in rows:
        if row["load"] < min(highest, 1.0):
            continue
        what: What = "h2d" if row["read_share"] == 0 else "d2h" if row["read_share"] == 1 else "both"
        yield Question(
            what=what,
            value=Value(row["bandwidth"] / 8, "GB/s", 1.0),
            width=width,
            engine="core",
            kind="expander",
            size_bytes=_LINE_BYTES,
            device=profile.name,
            read_share=row["read_share"],
            expander=(profile, ""),
            name=f"{row['id']} {row['name']}",
        )


EXPLAIN = Explain(rows=explain_memory, told=_ASKED, questions=questions)
