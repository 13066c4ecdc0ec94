"""Tables of runs with emulated devices, whose times mean nothing.

An emulated run only shows that drivers, IOMMU and data were right; its times and bandwidths are never shown.
"""

from typing import TYPE_CHECKING

from pcielab.library.suites.parameter import PARAMETERS

if TYPE_CHECKING:
    import pandas as pd

NOTICE = "EMULATED: what was exercised, not how fast"
"""Heading of everything shown of an emulated run."""
WHY = "An emulator stood in for the devices, so that times and bandwidths say nothing and are not shown."

_MESSAGES = ("way", "pace", "store_bytes", "store_kind", "messages")


def exercised(tests: "pd.DataFrame", origin: str) -> "pd.DataFrame":
    """One row per test, in suite order: its parameters and its status.

    Args:
        tests: `Store.tests` of the run.
        origin: Origin of its numbers.

    Returns:
        The columns id, family, name, one per parameter that the tests have, status, message, origin.
    """
    asked = [key for key in (*(one.key for one in PARAMETERS), *_MESSAGES) if key in tests]
    shown = tests[["id", "family", "name", *dict.fromkeys(asked), "status", "message"]]
    return shown.assign(origin=origin)
