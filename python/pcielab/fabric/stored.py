"""The content of a store about flows through a fabric; `pcielab.kinds.flows.rows` reads it.

Scalars: of each flow `bandwidth`, `requests`, `in_flight` and latencies under the subject `flow NAME`, and average
and 99th percentile of its phases under `phase PHASE of NAME`; `warm_up` and `counted` of the whole test.
Histograms of whole requests and of each phase are distributions; the times of each request, if kept, are series.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from pcielab.fabric.flow_numbers import PHASES, TIMES
from pcielab.percentiles import percentile

_T = TypeVar("_T")
_PIECE = 10_000
"""Scalars or flows of a piece: a few MB."""
_FRAMES = 100
"""Flows of a piece with the histograms of their requests."""


def pieces_of(
    flows: pd.DataFrame,
    edges: pd.DataFrame,
    requests: Callable[[], Iterator[tuple[str, pd.DataFrame]]],
    *,
    traced: bool,
    **spans_us: float,
) -> Iterator[str]:
    """The numbers of a test as the compiled half takes them, piece by piece: all of many flows fill memory.

    Args:
        flows: The flows of `Simulated`.
        edges: Its edges.
        requests: Gives its flows with requests, one by one: frames of all of them would fill memory, too.
        traced: Whether to keep the times of every request.
        spans_us: Times of the whole test.
    """
    for scalars in _blocks(_scalars(flows, edges, requests(), spans_us), _PIECE):
        yield json.dumps({"scalars": scalars})
    for some in map(dict, _blocks(requests(), _FRAMES)):
        series = series_of(some) if traced else []
        yield json.dumps({"distributions": distributions_of(some), "series": series})


def _blocks(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    rest = iter(items)
    while block := [*islice(rest, size)]:
        yield block


def scalars_of(
    flows: pd.DataFrame, edges: pd.DataFrame, requests: Mapping[str, pd.DataFrame], **spans_us: float
) -> list[dict[str, Any]]:
    """The scalars of a test, from the frames of `Simulated`; `spans_us` are times of the whole test."""
    return [*_scalars(flows, edges, requests.items(), spans_us)]


def _scalars(
    flows: pd.DataFrame,
    edges: pd.DataFrame,
    requests: Iterable[tuple[str, pd.DataFrame]],
    spans_us: Mapping[str, float],
) -> Iterator[dict[str, Any]]:
    spans = (
        {"subject": "", "metric": name, "unit": "ns", "value": span_us * 1e3} for name, span_us in spans_us.items()
    )
    return chain(spans, _flow_scalars(flows), _edge_scalars(edges), _phase_scalars(requests))


def _flow_scalars(flows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    units = {"gbytes_per_s": ("bandwidth", "GB/s"), "requests": ("requests", "1"), "in_flight": ("in_flight", "1")}
    left_out = {"flow", "fits", "note", *(f"{phase}_ns" for phase in PHASES)}
    for first in range(0, len(flows), _PIECE):
        for row in flows.iloc[first : first + _PIECE].to_dict("records"):
            for key, value in row.items():
                if key not in left_out and not pd.isna(value):
                    metric, unit = units.get(str(key), (str(key).removesuffix("_ns"), "ns"))
                    subject = f"flow {row['flow']}"
                    yield {"subject": subject, "metric": metric, "unit": unit, "value": float(value)}


def _edge_scalars(edges: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for row in edges.to_dict("records"):
        load = float(row["load_gbytes_per_s"])
        yield {"subject": f"edge {row['edge']}", "metric": "load", "unit": "GB/s", "value": load}


def _phase_scalars(requests: Iterable[tuple[str, pd.DataFrame]]) -> Iterator[dict[str, Any]]:
    for flow, rows in requests:
        for phase in PHASES if len(rows) else ():
            subject = f"phase {phase} of {flow}"
            for metric, value in (("average", rows[phase].mean()), ("p99", percentile(rows[phase], 0.99))):
                yield {"subject": subject, "metric": metric, "unit": "ns", "value": float(value)}


def distributions_of(requests: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Histograms of whole requests and of each phase, in nanoseconds."""
    found = []
    for flow, rows in requests.items():
        for phase in ("total", *PHASES) if len(rows) else ():
            bins, counts = np.unique(rows[phase].round().astype("int64"), return_counts=True)
            pairs = np.column_stack([bins, counts]).tolist()
            found.append({"metric": f"{phase} of {flow}", "tick": "1", "bins": pairs})
    return found


def series_of(requests: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """The times of every request, in ns; `reached` only if the flow has commands."""
    return [
        {"metric": f"{time} of {flow}", "values": rows[time].tolist()}
        for flow, rows in requests.items()
        for time in TIMES
        if len(rows) and rows[time].notna().all()
    ]
