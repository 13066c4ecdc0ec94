"""The stores of a server for its pages: by number, never by path."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from pcielab.analysis.compare import compare
from pcielab.errors import InputError
from pcielab.store import Store, open_store
from pcielab.store.exercised import exercised

_ROWS_MOST = 5000
_SHOWN = ("bandwidth_gbps", "median_ns", "p99_ns")
_OVERLAID = ("size_bytes", "window_bytes", "cache", "operation", "path", "pattern")


class Stores:
    """The runs given to a server."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = list(paths)
        self._opened = lru_cache(maxsize=16)(open_store)
        for path in self._paths:
            self._opened(path)

    def listed(self) -> list[dict[str, Any]]:
        """Number, name, title, origin, kind and extent of each."""
        return [
            {
                "store": number,
                "name": path.name,
                "title": store.title,
                "origin": store.origin,
                "kind": store.kind,
                "extent": store.extent,
            }
            for number, path in enumerate(self._paths)
            for store in [self._opened(path)]
        ]

    def tests(self, asked: Any) -> dict[str, Any]:
        """The tests of a store with their numbers, filtered by words in family, name or parameters."""
        store = self._store(asked)
        frame = (store.frame if store.tells_speed else exercised(store.tests, store.origin)).drop(columns="origin")
        columns = [column for column in frame.columns if frame[column].nunique(dropna=False) > 1]
        # Rows of flows have an experiment instead of a name.
        always = [column for column in ("id", "family", "name", "experiment") if column in frame]
        shown = list(dict.fromkeys([*always, *columns, "status"]))
        rows = frame[shown]
        wanted = str(_of(asked, "filter", "")).lower().split()
        if wanted:
            texts = [" ".join(map(str, row)).lower() for row in rows.itertuples(index=False)]
            rows = rows[[all(word in text for word in wanted) for text in texts]]
        return {"columns": shown, "rows": _plain(rows.head(_ROWS_MOST)), "all": len(rows)}

    def compared(self, asked: Any) -> dict[str, Any]:
        """Two stores side by side: a summary of the differences, and the pairs."""
        comparison = compare(self._store(asked, "a"), self._store(asked, "b"))
        rows = comparison.rows.dropna(axis="columns", how="all").head(_ROWS_MOST)
        shown = [column for column in rows.columns if rows[column].nunique() > 1 or column in ("family", "test_a")]
        rows = rows[shown]
        summary = comparison.summary
        return {
            "names": list(comparison.names),
            "summary": {"columns": list(summary.columns), "rows": _plain(summary)},
            "rows": {"columns": list(rows.columns), "rows": _plain(rows)},
        }

    def distribution(self, asked: Any) -> dict[str, Any]:
        """The distribution of a test: latencies with the share of samples up to each; empty if it has none."""
        store, test = self._store(asked), _of(asked, "test", None)
        store.require_speed("a distribution")
        if not isinstance(test, int) or test not in set(store.tests["id"]):
            raise InputError(f"test {test!r}: {store.path.name} has no test with this number")
        found = store.distribution(test)
        every = max(1, math.ceil(len(found) / 400))
        kept = found.iloc[::every]
        return {"cdf": [[float(ns), float(cdf)] for ns, cdf in zip(kept["latency_ns"], kept["cdf"], strict=True)]}

    def overlay(self, asked: Any) -> dict[str, Any]:
        """The rows of a store to draw over curves: finished, aligned DMA tests."""
        store = self._store(asked)
        store.require_kind("transfers", "an overlay")
        store.require_speed("an overlay")
        frame = store.frame
        rows = frame[(frame["status"] == "ok") & (frame["path"] == "dma")]
        columns = [column for column in (*_OVERLAID, *_SHOWN) if column in rows]
        aligned = (rows["host_offset_bytes"] == 0) & (rows["device_offset_bytes"] == 0)
        kept = rows.loc[aligned, columns].drop_duplicates().head(_ROWS_MOST)
        return {"name": f"{store.path.name} ({store.origin})", "rows": _plain(kept)}

    def _store(self, asked: Any, key: str = "store") -> Store:
        number = _of(asked, key, None)
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(self._paths):
            raise InputError(f"{key}: give the number of a listed store")
        return self._opened(self._paths[number])


def _of(asked: Any, key: str, default: object) -> Any:
    if not isinstance(asked, Mapping):
        raise InputError("give an object")
    return asked.get(key, default)


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows for JSON: missing values and NaN become null."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(key): _finite(value) for key, value in row.items()} for row in rows]


def _finite(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
