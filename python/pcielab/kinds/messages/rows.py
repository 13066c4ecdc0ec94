"""The connections of a mux as rows, with the results of each."""

import json
from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pcielab.errors import refusal
from pcielab.store.frames import Frames

if TYPE_CHECKING:
    import pandas as pd

_SUBJECT = "connection "


def with_connections(store: Frames, tests: "pd.DataFrame") -> "pd.DataFrame":
    """The rows of tests, with further rows after each test of a mux, one per connection.

    A connection's row has its name as `connection`, and its own longest message, pace, limit and metrics.

    Args:
        store: The store of the rows.
        tests: One row per test, with its `id`.
    """
    if "connections" not in tests or tests["connections"].isna().all():
        return tests
    import pandas as pd

    rows = ({str(key): value for key, value in row.items()} for row in tests.to_dict("records"))
    return pd.DataFrame(list(rows_with_connections(store, rows, frozenset(store.tests.columns))))


def rows_with_connections(
    store: Frames, tests: Iterable[dict[str, Any]], asked: Container[str]
) -> Iterator[dict[str, Any]]:
    """As `with_connections`, of plain rows, without pandas; a connection shares the columns `asked`."""
    for test in tests:
        yield test
        shared = {key: value for key, value in test.items() if key in asked}
        for connection in _connections(store, test):
            metrics = store.metrics.get((test["id"], _SUBJECT + connection["name"]), {})
            yield shared | _parameters(connection, shared) | metrics


def _connections(store: Frames, test: dict[Any, Any]) -> Iterator[dict[str, Any]]:
    text = test.get("connections")
    if not isinstance(text, str):
        return
    try:
        connections = json.loads(text)
        yield from (one for one in connections if one["name"] and one["sizes"])
    except (ValueError, TypeError, KeyError):
        raise refusal(
            "wrong-type", f"{store.path}: test {test['id']}: `connections` must be a JSON list"
        ) from None


def _parameters(connection: dict[str, Any], test: dict[Any, Any]) -> dict[str, Any]:
    limit = connection.get("stores_up_to_bytes")
    return {
        "connection": connection["name"],
        "cores": 1,
        "pace": connection.get("pace"),
        "size_bytes": max(connection["sizes"]),
        "stores_up_to_bytes": test.get("stores_up_to_bytes") if limit is None else limit,
    }
