"""The connections of a mux as rows, with the results of each."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pcielab.errors import InputError
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

    scalars = store.scalar_rows[store.scalar_rows["subject"].str.startswith(_SUBJECT)]
    found = {
        (test, subject): dict(zip(rows["metric"], rows["value"], strict=True))
        for (test, subject), rows in scalars.groupby(["test", "subject"])
    }
    parameters = list(store.tests.columns)
    asked = tests[[column for column in tests.columns if column in parameters]]
    rows: list[dict[str, Any]] = []
    for whole, plain in zip(tests.to_dict("records"), asked.to_dict("records"), strict=True):
        rows.append({str(key): value for key, value in whole.items()})
        for connection in _connections(store, whole):
            metrics = found.get((whole["id"], _SUBJECT + connection["name"]), {})
            rows.append(
                {str(key): value for key, value in plain.items()} | _parameters(connection, plain) | metrics
            )
    return pd.DataFrame(rows)


def _connections(store: Frames, test: dict[Any, Any]) -> Iterator[dict[str, Any]]:
    text = test["connections"]
    if not isinstance(text, str):
        return
    try:
        connections = json.loads(text)
        yield from (one for one in connections if one["name"] and one["sizes"])
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{store.path}: test {test['id']}: `connections` must be a JSON list") from None


def _parameters(connection: dict[str, Any], test: dict[Any, Any]) -> dict[str, Any]:
    limit = connection.get("stores_up_to_bytes")
    return {
        "connection": connection["name"],
        "cores": 1,
        "pace": connection.get("pace"),
        "size_bytes": max(connection["sizes"]),
        "stores_up_to_bytes": test.get("stores_up_to_bytes") if limit is None else limit,
    }
