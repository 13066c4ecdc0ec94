"""The stores of a server for its pages: by number, never by path."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from pcielab.analysis.compare import compare
from pcielab.errors import refusal
from pcielab.explore.columns import Column, columns_of_pairs, columns_of_summary, columns_of_tests
from pcielab.store import Store, open_store
from pcielab.store.exercised import exercised
from pcielab.store.kinds import columns_of

_ROWS_MOST = 5000
_BINS_SHOWN = 400
_SHOWN = ("bandwidth_gbps", "median_ns", "p99_ns")
_OVERLAID = ("size_bytes", "window_bytes", "cache", "operation", "path", "pattern")
_OFFSETS = ("host_offset_bytes", "device_offset_bytes")


class Stores:
    """The runs given to a server."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = list(paths)
        self._opened = lru_cache(maxsize=16)(open_store)
        for path in self._paths:
            self._opened(path)

    def listed(self) -> list[dict[str, Any]]:
        """Number, name, title, origin, kind, what its rows are, and extent of each."""
        return [
            {
                "store": number,
                "name": path.name,
                "title": store.title,
                "origin": store.origin,
                "kind": store.kind,
                "rows": columns_of(store.kind).noun,
                "extent": store.extent,
            }
            for number, path in enumerate(self._paths)
            for store in [self._opened(path)]
        ]

    def tests(self, asked: Any) -> dict[str, Any]:
        """The tests of a store with their numbers, filtered by words in family, name or parameters.

        Tests of a fabric have a row for each flow, those of a mux one for each connection.
        """
        store = self._store(asked)
        frame = (store.frame if store.tells_speed else exercised(store.tests, store.origin)).drop(columns="origin")
        columns = columns_of_tests(store, frame)
        rows = frame[[column.key for column in columns]]
        wanted = str(_of(asked, "filter", "")).lower().split()
        if wanted:
            texts = [" ".join(map(str, row)).lower() for row in rows.itertuples(index=False)]
            rows = rows[[all(word in text for word in wanted) for text in texts]]
        return {**_table(columns, rows.head(_ROWS_MOST)), "all": len(rows)}

    def compared(self, asked: Any) -> dict[str, Any]:
        """Two stores side by side: a summary of the differences, and the pairs."""
        comparison = compare(self._store(asked, "a"), self._store(asked, "b"))
        rows, summary = comparison.rows, comparison.summary
        return {
            "names": list(comparison.names),
            "summary": _table(columns_of_summary(summary), summary),
            "rows": {**_table(columns_of_pairs(rows), rows.head(_ROWS_MOST)), "all": len(rows)},
        }

    def distribution(self, asked: Any) -> dict[str, Any]:
        """The distribution of a test or a flow: latencies with the share of samples up to each, or empty."""
        store, test, flow = self._store(asked), _of(asked, "test", None), _of(asked, "flow", None)
        store.require_speed("a distribution")
        if not isinstance(test, int) or test not in set(store.tests["id"]):
            raise refusal("not-found", f"test {test!r}: {store.path.name} has no test with this number")
        metric = "latency" if flow is None else f"total of {flow}"
        found = store.distribution(test, metric)
        every = max(1, math.ceil(len(found) / _BINS_SHOWN))
        # Counted from the end: the longest latency is always shown.
        kept = found[::-1].iloc[::every][::-1]
        pairs = zip(kept[f"{metric}_ns"], kept["cdf"], strict=True)
        return {"cdf": [[float(ns), float(cdf)] for ns, cdf in pairs]}

    def overlay(self, asked: Any) -> dict[str, Any]:
        """The rows of a store to draw over curves: finished, aligned DMA tests."""
        store = self._store(asked)
        store.require_kind("transfers", "an overlay")
        store.require_speed("an overlay")
        frame = store.frame
        rows = frame.reindex(columns=[*_OVERLAID, *_SHOWN, "status", *_OFFSETS])
        aligned = (rows[list(_OFFSETS)] == 0).all(axis=1)
        kept = rows[(rows["status"] == "ok") & (rows["path"] == "dma") & aligned]
        columns = [column for column in (*_OVERLAID, *_SHOWN) if column in frame]
        kept = kept[columns].drop_duplicates().head(_ROWS_MOST)
        return {"name": f"{store.path.name} ({store.origin})", "rows": _plain(kept)}

    def _store(self, asked: Any, key: str = "store") -> Store:
        number = _of(asked, key, None)
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(self._paths):
            raise refusal("not-found", f"{key}: give the number of a listed store")
        return self._opened(self._paths[number])


def _of(asked: Any, key: str, default: object) -> Any:
    if not isinstance(asked, Mapping):
        raise refusal("wrong-type", "give an object")
    return asked.get(key, default)


def _table(columns: Sequence[Column], rows: pd.DataFrame) -> dict[str, Any]:
    """Columns and rows for JSON."""
    return {
        "columns": [asdict(column) for column in columns],
        "rows": _plain(rows[[column.key for column in columns]]),
    }


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows for JSON: missing values and NaN become null."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(key): _finite(value) for key, value in row.items()} for row in rows]


def _finite(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
