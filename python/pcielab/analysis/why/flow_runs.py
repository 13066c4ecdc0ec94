"""Why the flows of a simulated run get no more: edges, or their own requests in flight.

The limits are those of `explain`. More requests in flight are simulated, wider edges are estimated.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pcielab import _core
from pcielab.analysis.why.answer import Bar, Cell, Change, Why, words_of
from pcielab.analysis.why.flows import UNIT, flow_names, influenced
from pcielab.analysis.why.gains import LEAST_GAIN_PERCENT
from pcielab.analysis.why.numbers import near
from pcielab.errors import found_in, refusal, wrong_value
from pcielab.kinds.explained import Explained, ExplainedRun
from pcielab.kinds.flows.explain import IN_FLIGHT
from pcielab.library.fabrics.flows import KEYS
from pcielab.library.fabrics.load import RecordedFabric, recorded
from pcielab.work.effort import Progress

if TYPE_CHECKING:
    import pandas as pd

    from pcielab.store import Store

_SHOWN_FLOWS, _SHOWN_CHANGES = 8, 5
_LONGEST_US = 2_000.0
"""Most microseconds to simulate for a change, ten times a run's default: a store may give any duration."""


def check_shares(counts: Sequence[int], limit: int | None) -> None:
    """Refuse tests of more flows than can be explained: each takes an estimate of all shares of its test.

    Args:
        counts: The flows of each test.
        limit: Most shares (see `influence_of_each`).

    Raises:
        InputError: They take more.
    """
    most = _core.INFLUENCE_SHARES_MOST if limit is None else limit
    needed = sum(count * count for count in counts)
    if needed > most:
        remedy = f"{sum(counts)} flows need {needed} shares: give {needed}, or fewer tests"
        raise wrong_value("limit", most, remedy)


def why_flow_run(
    store: "Store", found: ExplainedRun, *, progress: Progress | None = None, limit: int | None = None
) -> Why:
    """Why the flows of a simulation get no more; of several simulations, the first of those with most flows.

    Args:
        store: A run of flows.
        found: Its explained rows, at least one.
        progress: Called with the changes estimated, and their total.
        limit: Shares that all changes may take (see `influence_of_each`).
    """
    counts = Counter(row.test for row in found.rows)
    test = max(counts, key=lambda one: counts[one])
    rows = [row for row in found.rows if row.test == test]
    asking = [row for row in rows if _asks(row)]
    if not asking:
        raise refusal(
            "missing", f"{store.path}: test {test}: no flow asks for anything: give a run of flows with a demand"
        )
    group = _largest_group(asking)
    row = sorted(group, key=lambda one: one.share or 0.0)[len(group) // 2]
    changes = _changes(store, test, rows, progress, limit)
    best = [change for change in changes if change.gain_percent >= LEAST_GAIN_PERCENT]
    of = f", simulation {test} of {len(counts)}" if len(counts) > 1 else ""
    asked = {
        "title": f"{store.title}{of}",
        "origin": store.origin,
        "flows": len(rows),
        "asking": len(asking),
        "group": [_flow(one) for one in group],
        "flow": _flow(row),
        "value": row.value,
        "limits": [(limit.name, limit.value) for limit in row.limits],
        "reasons": row.reasons,
        "best": asdict(best[0]) if best else None,
    }
    question, sentences, sure, first = words_of("simulated", asked)
    return Why(
        question=question,
        sentences=sentences,
        binds=row.limits[0].name if row.limits else "own-demand",
        certainty=sure,
        change=first,
        changes=tuple(changes),
        unit=UNIT,
        bars=tuple(_bars(rows, row, store.origin, best)),
        rows=tuple(_cells(one, store.origin) for one in rows),
        notes=tuple(found.notes),
    )


def _largest_group(rows: Sequence[Explained]) -> list[Explained]:
    """The flows of the limit that binds most of them."""
    [(name, _)] = Counter(_limit(row) for row in rows).most_common(1)
    return [row for row in rows if _limit(row) == name]


def _limit(row: Explained) -> str | None:
    return row.limits[0].name if row.limits else None


def _asks(row: Explained) -> bool:
    """Whether a flow may move anything: its demand and its edges are above 0."""
    return row.value > 0 or bool(row.limits and all(limit.value > 0 for limit in row.limits))


def _flow(row: Explained) -> str:
    return str(row.asked["flow"])


def _changes(
    store: "Store", test: int, rows: Sequence[Explained], progress: Progress | None, limit: int | None
) -> list[Change]:
    """More requests in flight, simulated, and wider edges, estimated."""
    from pcielab.kinds.flows.rows import flow_table

    table = flow_table(store)
    flows = table[table["id"] == test].rename(columns={"flow": "name"})
    flows = flows[[column for column in KEYS if column in flows]].reset_index(drop=True)
    fabric = recorded(store.manifest, str(store.path))
    held = [_flow(row) for row in rows if _limit(row) == IN_FLIGHT]
    found = [_with_more_requests(store, test, fabric, flows, held)] if held else []
    if any((_limit(row) or "").startswith("edge ") for row in rows):
        alone = flows.reindex(columns=["standalone_gbytes_per_s"])["standalone_gbytes_per_s"].astype(float)
        found += influenced(fabric, flows.assign(standalone_gbytes_per_s=alone), progress, limit)
    return found


def _with_more_requests(
    store: "Store", test: int, fabric: RecordedFabric, flows: "pd.DataFrame", held: Sequence[str]
) -> Change:
    """The total of some flows with twice their requests in flight, all flows simulated at once."""
    from pcielab.fabric.simulation import check_options, simulate

    [asked] = store.tests[store.tests["id"] == test].to_dict("records")
    if asked["duration_us"] is None:
        raise refusal(
            "missing", f"{store.path}: test {test}: has no `duration_us`: run it again with this version"
        )
    duration_us, seed = float(asked["duration_us"]), int(store.manifest.get("seed") or 1)
    warm_up_us = asked.get("warm_up_us")
    if warm_up_us is None or warm_up_us != warm_up_us:
        warm_up_us = None
    with found_in(f"{store.path}: test {test}"):
        check_options(duration_us, warm_up_us, seed)
    how: dict[str, Any] = {
        "discipline": asked["discipline"],
        "warm_up_us": None if warm_up_us is None else min(float(warm_up_us), _LONGEST_US),
        "duration_us": min(duration_us, _LONGEST_US),
        "seed": seed,
    }
    of_held = flows["name"].isin(held)
    doubled = flows.assign(outstanding=flows["outstanding"].where(~of_held, 2 * flows["outstanding"]))
    with found_in(f"{store.path}: test {test}"):
        before, after = (
            float(shares.loc[shares["flow"].isin(held), "gbytes_per_s"].sum())
            for shares in (simulate(fabric, one, **how).flows for one in (flows, doubled))
        )
    of = flow_names(held) if len(held) == 1 else f"these {len(held)} flows, in all"
    return Change(f"twice as many requests in flight of {of}", before, after, UNIT, "test")


def _bars(rows: Sequence[Explained], row: Explained, origin: str, best: Sequence[Change]) -> Iterator[Bar]:
    for one in rows[:_SHOWN_FLOWS]:
        yield Bar(f"{_flow(one)}, {origin}", one.value, "value")
    if row.limits:
        for name, value in near([(limit.name, limit.value) for limit in row.limits]):
            yield Bar(f"{_flow(row)}, {name}", value, "bound")
    for change in best[:_SHOWN_CHANGES]:
        yield Bar(change.what, change.after, "change")


def _cells(row: Explained, origin: str) -> Mapping[str, Cell]:
    share = row.share
    return {
        "flow": _flow(row),
        "source": row.asked["source"],
        "destination": row.asked["destination"],
        "origin": origin,
        "gbytes_per_s": row.value,
        "limit": _limit(row),
        "limit_gbytes_per_s": row.limits[0].value if row.limits else None,
        "share_percent": 100 * share if share is not None else None,
        "may_explain": "; ".join(row.reasons) or None,
    }
