"""Tables of the flows in a store: a row per flow, or a row per request. `pcielab.fabric.stored` writes them."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import InputError, refusal
from pcielab.fabric.flow_numbers import PHASES, TIMES, departures, fitting
from pcielab.store.frames import Frames
from pcielab.wording import shown

if TYPE_CHECKING:
    import pandas as pd

_METRICS = {"bandwidth": "gbytes_per_s", "requests": "requests", "in_flight": "in_flight"}
"""Metrics of flows with other names in tables; all others are latencies, in ns."""
FLOW_KEYS = (
    "source",
    "destination",
    "primitive",
    "size_bytes",
    "outstanding",
    "standalone_gbytes_per_s",
    "arrivals",
    "socket",
    "queue",
    "memory",
)
"""Parameters of a flow in tables."""
_ASKED = ["id", "family", "experiment", "sweep", "value", "discipline", "flow", *FLOW_KEYS, "status", "message"]
"""Columns of the parameters of a row."""
_SPANS = ("warm_up", "counted")
"""Times of a whole test."""
_ORDER = ("gbytes_per_s", "requests", "in_flight", "average_ns", "p50_ns", "p90_ns", "p99_ns", "reached_ns")


_MARK = re.compile(r"[ \t\n\r]*([^ \t\n\r])")
_END = re.compile(r"[ \t\n\r]*\][ \t\n\r]*")


@refuses_wrong_types
def flow_table(store: Frames) -> "pd.DataFrame":
    """One row per test and flow, in suite order: its parameters, bandwidth, latencies and phases.

    The columns are id, family, experiment, the swept key with its value, discipline, flow and its keys, status,
    message, gbytes_per_s, requests, in_flight (requests, on average), average_ns, p50_ns, p90_ns, p99_ns,
    reached_ns (from submission until the command is at the device), host_ns, fabric_ns, device_ns, warm_up_ns
    (before counting), counted_ns, fits (whether the flow gets its declared standalone bandwidth), note (why the
    flow is not steady: `pcielab.fabric.flow_numbers`); empty columns are left out. The rows of a test without a
    result have no numbers.
    """
    import pandas as pd

    store.require_kind("flows", "a table of flows")
    table = _table(_asked(store))
    scalars = store.scalar_rows
    found = pd.concat([_wide(scalars, "flow "), _phase_averages(scalars)], axis=1)
    table = table.join(found, on=["id", "flow"])
    whole = scalars[scalars["subject"] == ""].pivot(index="test", columns="metric", values="value")
    table = table.join(whole.reindex(columns=list(_SPANS)).rename(columns="{}_ns".format), on="id")
    table["fits"] = fitting(table)
    table["note"] = departures(table)
    order = (*_ORDER, *(f"{one}_ns" for one in PHASES), *(f"{one}_ns" for one in _SPANS), "fits", "note")
    columns = [*_ASKED, *(name for name in order if name in table)]
    table = table[columns].dropna(axis="columns", how="all")
    return table.astype({"requests": "Int64"}) if "requests" in table else table


def _table(rows: Iterable[Mapping[str, Any]]) -> "pd.DataFrame":
    """Rows of `_asked` as a frame. Equal texts are one object: the rows of many flows would fill memory."""
    import pandas as pd

    columns: dict[str, list[Any]] = {name: [] for name in _ASKED}
    known: dict[str, str] = {}
    for row in rows:
        for name, value in row.items():
            columns[name].append(known.setdefault(value, value) if isinstance(value, str) else value)
    # Without a row, nothing shows the type of a column.
    return pd.DataFrame(columns).astype({"id": "int64", "flow": "str"})


def flow_rows(store: Frames) -> Iterator[dict[str, Any]]:
    """The rows of `flow_table` as plain data, without pandas: parameters, bandwidth and latencies, if known."""
    store.require_kind("flows", "a table of flows")
    for row in _asked(store):
        metrics = store.metrics.get((row["id"], f"flow {row['flow']}"), {})
        yield row | {_column(metric): value for metric, value in metrics.items()}


def flow_counts(store: Frames, tests: Collection[int]) -> list[int]:
    """The number of flows of each of these tests."""
    return [sum(1 for _ in _flows(store, test)) for test in store.test_rows() if test["id"] in tests]


def _asked(store: Frames) -> Iterator[dict[str, Any]]:
    for test in store.test_rows():
        for flow in _flows(store, test):
            yield {
                "id": test["id"],
                "family": test["family"],
                "experiment": test["name"],
                "sweep": test.get("sweep"),
                "value": test.get("value"),
                "discipline": test.get("discipline"),
                "flow": str(flow.get("name")),
                **{key: flow.get(key) for key in FLOW_KEYS},
                "status": test["status"],
                "message": test["message"] or None,
            }


def _flows(store: Frames, test: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    """The flows of a test, one by one: all of many would fill memory."""
    try:
        for flow in _items(str(test.get("flows"))):
            if not isinstance(flow, dict):
                raise ValueError
            for key in FLOW_KEYS:
                if isinstance(flow.get(key), list | dict):
                    value = shown(flow[key])
                    raise refusal(
                        "wrong-type",
                        f"{store.path}: test {test['id']}: {key} of a flow is {value}: give a plain value",
                    )
            yield flow
    except InputError:
        raise
    except (ValueError, RecursionError):
        raise refusal(
            "damaged", f"{store.path}: test {test['id']}: flows is not a JSON list: the store is damaged"
        ) from None


def _items(text: str) -> Iterator[Any]:
    """The items of a list in JSON.

    Raises:
        ValueError: The text is no such list.
    """
    decoder = json.JSONDecoder()
    mark, at = _mark(text, 0)
    if mark != "[":
        raise ValueError(at)
    if not _END.match(text, at):
        mark = ","
        while mark == ",":
            item, at = decoder.raw_decode(text, _mark(text, at)[1] - 1)
            yield item
            mark, at = _mark(text, at)
        at -= 1
    if not _END.fullmatch(text, at):
        raise ValueError(at)


def _mark(text: str, at: int) -> tuple[str, int]:
    """The next letter that is no blank, and the position behind it."""
    found = _MARK.match(text, at)
    if found is None:
        raise ValueError(at)
    return found[1], found.end()


def _wide(scalars: "pd.DataFrame", kind: str) -> "pd.DataFrame":
    """The scalars of a kind of subject by test and flow, with metrics as columns."""
    rows = scalars[scalars["subject"].str.startswith(kind)]
    names = rows["subject"].str.removeprefix(kind).rename("flow")
    wide = rows.assign(flow=names).pivot(index=["test", "flow"], columns="metric", values="value")
    return wide.rename(columns=_column)


def _column(metric: str) -> str:
    return _METRICS.get(metric, f"{metric}_ns")


def _phase_averages(scalars: "pd.DataFrame") -> "pd.DataFrame":
    rows = scalars[scalars["subject"].str.startswith("phase ") & (scalars["metric"] == "average")]
    parts = rows["subject"].str.extract(r"^phase (\w+) of (.*)$")
    rows = rows.assign(phase=parts[0] + "_ns", flow=parts[1])
    return rows.pivot(index=["test", "flow"], columns="phase", values="value")


@refuses_wrong_types
def request_table(store: Frames) -> "pd.DataFrame":
    """One row per traced request: its test, flow and number, and its times in ns.

    The columns are id, family, experiment, value (of a sweep), flow, request, submitted_ns, reached_ns (empty
    without a command), host_ns, fabric_ns, device_ns, total_ns. Requests of a flow are in completion order.

    Raises:
        InputError: The run was not traced, or none of its flows has requests.
    """
    import pandas as pd

    store.require_kind("flows", "a table of requests")
    flows = [(test, flow) for test in store.tests.to_dict("records") for flow in _flows(store, test)]
    kept = [_requests(store, test, str(flow.get("name"))) for test, flow in flows]
    kept = [one for one in kept if len(one)]
    if not kept:
        raise refusal(
            "missing", f"{store.path}: has no traced requests: {_to_trace(store, [flow for _, flow in flows])}"
        )
    table = pd.concat(kept, ignore_index=True)
    return table if table["value"].notna().any() else table.drop(columns="value")


def _to_trace(store: Frames, flows: list[dict[str, Any]]) -> str:
    """Why a store of these flows has no traced requests, and how to get one that has."""
    if all(flow.get("primitive") == "stream" for flow in flows):
        return "all its flows are streams, which have none: run flows with another primitive (h2d, d2h, ...)"
    if not any(metrics.get("requests") for metrics in store.metrics.values()):
        return "no request finished: lengthen --duration-us"
    return "run pcielab fabric run --trace, or save a program's trace"


def _requests(store: Frames, test: Mapping[Any, Any], flow: str) -> "pd.DataFrame":
    import pandas as pd

    times = {time: store.series(test["id"], f"{time} of {flow}")["value"] for time in TIMES}
    frame = pd.DataFrame({f"{time}_ns": values for time, values in times.items()}).dropna(subset=["submitted_ns"])
    frame["total_ns"] = frame[[f"{phase}_ns" for phase in PHASES]].sum(axis=1)
    keys = {
        "id": test["id"],
        "family": test["family"],
        "experiment": test["name"],
        "value": test.get("value"),
        "flow": flow,
        "request": range(len(frame)),
    }
    for number, (column, value) in enumerate(keys.items()):
        frame.insert(number, column, value)
    return frame
