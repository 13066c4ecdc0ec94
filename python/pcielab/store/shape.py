"""Check the types of a store's values when it is opened: untrusted stores may hold anything.

Only types of values that other modules use unchecked are tested; `pcielab.store.manifest` checks the nested parts
of a manifest. Missing and null keys are unknown.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pcielab.errors import refusal
from pcielab.store.kinds import KINDS, TEXT as _TEXT, WHOLE as _WHOLE, Type, columns_of

_OBJECT, _LIST = (dict, "an object"), (list, "a list")
MANIFEST = {
    **dict.fromkeys(
        ("origin", "title", "suite", "version", "started", "machine", "suite_digest", "fitted_to", "extrapolated"),
        _TEXT,
    ),
    **dict.fromkeys(
        ("system", "overrides", "options", "backend", "device", "host", "messages", "source", "borrowed"), _OBJECT
    ),
    "unmeasured": _OBJECT,
    **dict.fromkeys(("unmeasured.assumed", "unmeasured.unidentified"), _LIST),
    **dict.fromkeys(("nic", "format", "messages.link", "system.fabric"), _OBJECT),
    **dict.fromkeys(("conditions_before", "conditions_after"), _LIST),
    **dict.fromkeys(("tests", "seed"), _WHOLE),
    "system.name": _TEXT,
}
"""Types of the manifest's values, by dotted key."""

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
            raise refusal(
                "wrong-type", f"{source}: {part}: `{key}` is {str(value)[:60]!r}: it must be {named} or null"
            )


@cache
def _types() -> dict[str, Type]:
    """Types of the parameters of a test of any kind."""
    return {key: of for kind in KINDS for key, of in columns_of(kind).types.items()}


def check_parameters(parameters: Mapping[str, Any], source: Path, part: str) -> None:
    """Refuse parameters of other types than a test has, and numbers out of range."""
    types = _types()
    check_shape(parameters, types, source, part)
    for key in types.keys() & parameters.keys():
        value = parameters[key]
        if key in _ABOVE_ZERO and value is not None and not value > 0:
            raise refusal("out-of-range", f"{source}: {part}: `{key}` is {value!r}: it must be above 0")
        if isinstance(value, int | float) and not 0 <= value <= _MOST:
            raise refusal(
                "out-of-range", f"{source}: {part}: `{key}` is {str(value)[:60]}: it must be from 0 to {_MOST}"
            )
