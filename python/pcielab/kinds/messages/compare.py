"""Pairs of tests of messages, and of the connections of a mux.

Stands alone: `kinds/rooms.py` loads each part at its use.
"""

from typing import Any

from pcielab.kinds.messages.rows import rows_with_connections
from pcielab.kinds.rooms import Cells, Compare, Row
from pcielab.kinds.transfers.compare import metric
from pcielab.store import Store
from pcielab.store.identity import NAMED, SETTING

PARAMETERS = (
    *("way", "pace", "generation", "lanes", "cores", "sharing", "eviction", "pressure", "messages"),
    *("store_bytes", "store_kind", "stores_up_to_bytes", "connections", "connection"),
)
"""Parameters besides the size; they have none of the parameters of transfers."""


def _rows(store: Store) -> list[dict[str, Any]]:
    tests = list(store.test_rows())
    asked = {key for test in tests for key in test}
    whole = [test | store.metrics.get((test["id"], ""), {}) for test in tests]
    rows = list(rows_with_connections(store, whole, asked))
    if any("connection" in row for row in rows):
        rows = [row | {"test": row["id"], "id": number} for number, row in enumerate(rows)]
    return [row for row in rows if row["status"] == "ok"]


def _asked(row: Row) -> Cells:
    generation, lanes = row["generation"], row["lanes"]
    # The link that a message crosses, if it is not the profile's own.
    has_link = generation is not None and generation == generation
    link = f"Gen{generation:.0f} x{lanes:.0f}" if has_link else "-"
    return {"size": row["size_bytes"], "way": row["way"], "cores": row["cores"], "link": link}


def _sort(parameters: Row, is_latency: bool) -> str:
    way = parameters["way"]
    messages = f"messages by {way}" if way == "descriptors" else f"{way} messages"
    return messages + (" alone" if is_latency else "")


COMPARE = Compare(
    rows=_rows,
    keys=((*NAMED, *PARAMETERS), (*SETTING, *PARAMETERS)),
    shown=PARAMETERS,
    unsaid={"eviction": "in-order", "pressure": 0.0, "store_bytes": 8, "store_kind": "plain"},
    sort=_sort,
    asked=_asked,
    metric=metric,
)
