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
_NUMBER, _WHOLE, _SWITCH = ((int, float), "a number"), (int, "a whole number"), (bool, "true or false")
MANIFEST = {
    **dict.fromkeys(
        ("origin", "title", "suite", "version", "started", "machine", "suite_digest", "fitted_to", "extrapolated"),
        _TEXT,
    ),
    **dict.fromkeys(
        ("system", "overrides", "options", "backend", "device", "host", "messages", "source", "borrowed"), _OBJECT
    ),
    **dict.fromkeys(("nic", "format", "messages.link", "system.fabric"), _OBJECT),
    **dict.fromkeys(("conditions_before", "conditions_after"), _LIST),
    **dict.fromkeys(("tests", "seed"), _WHOLE),
    "system.name": _TEXT,
}
"""Types of the manifest's values, by dotted key."""

PARAMETERS = {
    **{one.key: {"word": _TEXT, "switch": _SWITCH}.get(one.kind, _WHOLE) for one in OF_TESTS},
    **dict.fromkeys(("way", "pace", "sharing", "eviction", "store_kind", "connections"), _TEXT),
    **dict.fromkeys(("messages", "cores", "lanes", "generation"), _WHOLE),
    **dict.fromkeys(("store_bytes", "stores_up_to_bytes"), _WHOLE),
    **dict.fromkeys(("pressure", "line_gbps", "duration_us", "warm_up_us"), _NUMBER),
    **dict.fromkeys(("frame_bytes", "packets", "warm_up_packets", "nics"), _WHOLE),
    **dict.fromkeys(("tool", "direction", "beside", "counted", "engine", "pair", "part"), _TEXT),
    **dict.fromkeys(("transport", "io_engine", "access", "clock"), _TEXT),
    "queues": _WHOLE,
}
"""Types of the parameters of a test."""
_ABOVE_ZERO = frozenset({"size_bytes", "window_bytes", "frame_bytes", "line_gbps"})
"""Parameters on logarithmic axes, and divisors."""
_MOST = 2**53
"""Largest parameter: larger ones are not exact in a table."""


def check_shape(values: Mapping[str, Any], kinds: Mapping[str, tuple[Any, str]], source: Path, part: str) -> None:
    """Refuse values of types other than those of `kinds`."""
    for key, (kind, named) in kinds.items():
        value: Any = values
        for step in key.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        # A bool is an int.
        if value is not None and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
            raise InputError(f"{source}: {part}: `{key}` is {str(value)[:60]!r}: it must be {named} or null")


def check_parameters(parameters: Mapping[str, Any], source: Path, part: str) -> None:
    """Refuse parameters of other types than those of `PARAMETERS`, and numbers out of range."""
    check_shape(parameters, PARAMETERS, source, part)
    for key in PARAMETERS.keys() & parameters.keys():
        value = parameters[key]
        if key in _ABOVE_ZERO and value is not None and not value > 0:
            raise InputError(f"{source}: {part}: `{key}` is {value!r}: it must be above 0")
        if isinstance(value, int | float) and not 0 <= value <= _MOST:
            raise InputError(f"{source}: {part}: `{key}` is {str(value)[:60]}: it must be from 0 to {_MOST}")
