"""Possible causes of a bandwidth below its bounds: properties of the test on its machine, as phrases.

Each costs time that no bound charges for; whether it did is not proved. The compiled half (`crates/pcie-why`)
words them.

Stands alone: rates and latencies both ask it.
"""

import json
from collections.abc import Mapping
from typing import Any

from pcielab import _core
from pcielab.kinds.machine_facts import MachineFacts

NEEDED = ("operation", "cache", "size_bytes", "window_bytes", "host_offset_bytes", "device_offset_bytes")
"""The parameters of a test that its reasons rest on."""


def reasons(facts: MachineFacts, test: Mapping[str, Any], *, tags_charged: bool) -> list[str]:
    """Phrases for a test, the costliest causes first; `tags_charged`: whether tags are among its bounds."""
    handle = None if facts.system is None else facts.system.handle
    known = {"iommu": facts.setup.iommu, "memory_is_local": facts.setup.memory_is_local}
    parameters = {key: test[key] for key in NEEDED}
    return _core.reasons_of_test(handle, json.dumps(known), json.dumps(parameters), tags_charged=tags_charged)
