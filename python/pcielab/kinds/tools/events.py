"""Why what another tool measured has no trace events.

Stands alone: `kinds/rooms.py` loads each part at its use.
"""

from pcielab.errors import refusal
from pcielab.kinds.rooms import Events
from pcielab.kinds.trace_events import Event
from pcielab.store import Store


def _events(store: Store) -> tuple[list[Event], list[str]]:
    missing = "times of single transfers: another tool measured it, which gives averages only"
    raise refusal("missing", f"{store.path}: has no {missing}")


EVENTS = Events(_events, "")
