"""Match tests of different runs and suites by their names and parameters.

The order of occurrence distinguishes repeated tests. The number of transactions and `details` affect the accuracy
of a number, not its identity.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from pcielab.library.suites.parameter import PARAMETERS

ASKED = ("pattern", "cache", "host_offset_bytes", "device_offset_bytes", "window_bytes", "size_bytes")
"""The parameters that identify a row of the published files."""
NAMED = ("family", "name", *ASKED)
"""The keys that identify a test of transfers in its suite."""
_HOW_LONG = ("transactions", "details")
SETTING = (
    "operation",
    "path",
    *ASKED,
    *(one.key for one in PARAMETERS if one.key not in ("operation", "path", *ASKED, *_HOW_LONG)),
)
"""The parameters that determine the result of a test of transfers, regardless of its name."""

Identity: TypeAlias = tuple[Any, ...]


def identity(family: str, name: str, parameters: Mapping[str, Any]) -> Identity:
    """The values of `NAMED`, which identify a test of transfers in its suite."""
    return (family, name, *(parameters[key] for key in ASKED))
