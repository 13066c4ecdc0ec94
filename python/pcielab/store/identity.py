"""Which test of a run is the same as which of another, or of a suite: by what it is called and what it asks for.

The order of occurrence tells apart what is asked for several times. How many transactions are asked for, and
whether details are kept, changes how well a number is known and not which one it is.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from pcielab.library.suites.parameters import PARAMETERS

ASKED = ("pattern", "cache", "host_offset_bytes", "device_offset_bytes", "window_bytes", "size_bytes")
"""The parameters that the published files name a row by."""
NAMED = ("family", "name", *ASKED)
"""What a test of transfers is called in its suite."""
_HOW_LONG = ("transactions", "details")
SETTING = (
    "operation",
    "path",
    *ASKED,
    *(one.key for one in PARAMETERS if one.key not in ("operation", "path", *ASKED, *_HOW_LONG)),
)
"""What a test of transfers asks for, whatever it is called."""

Identity: TypeAlias = tuple[Any, ...]


def identity(family: str, name: str, parameters: Mapping[str, Any]) -> Identity:
    """What tells a test of transfers from the others of its suite: its values of `NAMED`."""
    return (family, name, *(parameters[key] for key in ASKED))
