"""Check the types of a store's values when it is opened: untrusted stores may hold anything.

Only types of values that other modules use unchecked are tested; `pcielab.store.manifest` checks the nested parts
of a manifest. Missing and null keys are unknown.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pcielab.errors import InputError
from pcielab.library.suites.parameters import PARAMETERS as OF_TESTS

_TEXT, _OBJECT, _LIST = (str, "a text"), (dict, "an object"), (list, "a list")
_NUMBER = ((int, float), "a number")
MANIFEST = {
    **dict.fromkeys(
        ("origin", "title", "suite", "version", "started", "machine", "suite_digest", "fitted_to"), _TEXT
    ),
    **dict.fromkeys(
        ("system", "overrides", "options", "backend", "device", "host", "messages", "source", "borrowed"), _OBJECT
    ),
    **dict.fromkeys(("nic", "format", "messages.link", "system.fabric"), _OBJECT),
    **dict.fromkeys(("conditions_before", "conditions_after"), _LIST),
    **dict.fromkeys(("tests", "seed"), (int, "a whole number")),
    "system.name": _TEXT,
}
"""Types of the manifest's values, by dotted key."""

PARAMETERS = {
    **{one.key: _TEXT if one.kind == "word" else _NUMBER for one in OF_TESTS if one.kind != "switch"},
    **dict.fromkeys(("way", "pace", "sharing", "eviction", "store_kind", "connections"), _TEXT),
    **dict.fromkeys(("messages", "cores", "lanes"), _NUMBER),
    **dict.fromkeys(("generation", "pressure"), _NUMBER),
    **dict.fromkeys(("store_bytes", "stores_up_to_bytes"), _NUMBER),
    **dict.fromkeys(("tool", "direction", "beside", "counted", "engine", "pair", "part"), _TEXT),
    **dict.fromkeys(("transport", "io_engine", "access", "clock"), _TEXT),
    "queues": _NUMBER,
}
"""Types of the parameters of a test."""
_ABOVE_ZERO = frozenset({"size_bytes", "window_bytes"})
"""Parameters on logarithmic axes."""


def check_shape(values: Mapping[str, Any], kinds: Mapping[str, tuple[Any, str]], source: Path, part: str) -> None:
    """Refuse values of types other than those of `kinds`."""
    for key, (kind, named) in kinds.items():
        value: Any = values
        for step in key.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise InputError(f"{source}: {part}: `{key}` is {str(value)[:60]!r}: it must be {named} or null")
        if key in _ABOVE_ZERO and value is not None and not value > 0:
            raise InputError(f"{source}: {part}: `{key}` is {value!r}: it must be above 0")
