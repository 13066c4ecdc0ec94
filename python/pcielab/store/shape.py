"""What kind of value stands where in a store, checked as one is opened: foreign ones may hold anything.

Only kinds are checked, of what other modules look into without asking; `pcielab.store.manifest` checks the nested
parts of a manifest. A key that is missing, or null, is unknown.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pcielab.errors import InputError
from pcielab.library.suites.parameters import PARAMETERS as OF_TESTS

_TEXT, _OBJECT, _LIST = (str, "a text"), (dict, "an object"), (list, "a list")
_NUMBER = ((int, float), "a number")
MANIFEST = {
    **dict.fromkeys(("origin", "title", "suite", "version", "started", "machine", "suite_digest"), _TEXT),
    **dict.fromkeys(
        ("system", "overrides", "options", "backend", "device", "host", "messages", "source"), _OBJECT
    ),
    **dict.fromkeys(("nic", "format", "messages.link", "system.fabric"), _OBJECT),
    **dict.fromkeys(("conditions_before", "conditions_after"), _LIST),
    **dict.fromkeys(("tests", "seed"), (int, "a whole number")),
    "system.name": _TEXT,
}
"""Kind of value of each key of the manifest that other checks rely on; dots lead into objects."""

PARAMETERS = {
    **{one.key: _TEXT if one.kind == "word" else _NUMBER for one in OF_TESTS if one.kind != "switch"},
    **dict.fromkeys(("way", "pace", "sharing", "eviction", "store_kind", "connections"), _TEXT),
    **dict.fromkeys(("messages", "cores", "lanes"), _NUMBER),
    **dict.fromkeys(("generation", "pressure"), _NUMBER),
    **dict.fromkeys(("store_bytes", "stores_up_to_bytes"), _NUMBER),
}
"""Kind of value of each parameter of a test."""
_ABOVE_ZERO = frozenset({"size_bytes", "window_bytes"})
"""What is drawn on axes that know no zero."""


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
            raise InputError(f"{source}: {what}: `{key}` is {str(value)[:60]!r}: it must be {named} or null")
        if key in _ABOVE_ZERO and value is not None and not value > 0:
            raise InputError(f"{source}: {what}: `{key}` is {value!r}: it must be above 0")
