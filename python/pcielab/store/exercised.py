"""What was exercised by runs whose times say nothing, because an emulator stood in for the devices.

Such a run shows that drivers, IOMMU and data were right, and that alone: no number of speed is shown of it.
"""

from typing import TYPE_CHECKING

from pcielab.library.suites.parameters import PARAMETERS

if TYPE_CHECKING:
    import pandas as pd

NOTICE = "EMULATED: what was exercised, not how fast"
"""What stands over everything that is shown of such a run."""
WHY = "An emulator stood in for the devices, so that times and bandwidths say nothing and are not shown."

_MESSAGES = ("way", "pace", "store_bytes", "store_kind", "messages")


def exercised(tests: "pd.DataFrame", origin: str) -> "pd.DataFrame":
    """One row per test, in suite order: what was asked for, and how it ended.

    Args:
        tests: `Store.tests` of the run.
        origin: Where its numbers come from.

    Returns:
        The columns id, family, name, one per parameter that the tests have, status, message, origin.
    """
    asked = [key for key in (*(one.key for one in PARAMETERS), *_MESSAGES) if key in tests]
    shown = tests[["id", "family", "name", *dict.fromkeys(asked), "status", "message"]]
    return shown.assign(origin=origin)
