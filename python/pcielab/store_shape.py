"""What kind of value stands where in a store, checked as one is opened: foreign ones may hold anything.

Only kinds are checked, of what other modules look into without asking. A key that is missing, or null, is unknown.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pcielab.errors import InputError

_TEXT, _OBJECT = (str, "a text"), (dict, "an object")
MANIFEST = {
    **dict.fromkeys(("origin", "title", "suite", "version"), _TEXT),
    **dict.fromkeys(
        ("system", "overrides", "options", "backend", "device", "host", "messages", "source"), _OBJECT
    ),
    **dict.fromkeys(("system.link", "system.host", "system.device", "device.link", "device.timer"), _OBJECT),
    **dict.fromkeys(("device.latency_includes", "conditions_before", "conditions_after"), (list, "a list")),
    "tests": (int, "a whole number"),
}
"""Kind of value of each key of the manifest; dots lead into objects."""

_NUMBER = ((int, float), "a number")
PARAMETERS = {
    **dict.fromkeys(
        ("operation", "path", "pattern", "cache", "way", "pace", "sharing", "eviction", "store_kind"), _TEXT
    ),
    **dict.fromkeys(("size_bytes", "window_bytes", "host_offset_bytes", "device_offset_bytes"), _NUMBER),
    **dict.fromkeys(
        ("stride_units", "outstanding", "transactions", "messages", "cores", "lanes", "store_bytes"), _NUMBER
    ),
}
"""Kind of value of each parameter of a test."""


def check_shape(values: Mapping[str, Any], kinds: Mapping[str, tuple[Any, str]], source: Path, what: str) -> None:
    """Refuse values of another kind than `kinds` says.

    Raises:
        InputError: It names the key, what is there, and what should be.
    """
    for key, (kind, named) in kinds.items():
        value: Any = values
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise InputError(f"{source}: {what}: `{key}` is {str(value)[:60]!r}: it must be {named}, or null")
