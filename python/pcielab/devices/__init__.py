"""Back ends: the devices that run tests, the protocols for new ones, and the contract that all of them keep.

    >>> import pcielab
    >>> pcielab.run("cpu", device="cpu", output="cpu.db")

A back end in Python is a class with the methods of `Backend`, which opens a `Device` and a `Host`. Packages
register theirs in the entry-point group `pcielab.devices` (see docs/guides/add-a-device.md).
"""

from typing import TYPE_CHECKING

from pcielab._core import DeviceLostError, NotSupportedError, Stop, UnavailableError
from pcielab.on_demand import names_on_demand

if TYPE_CHECKING:
    from pcielab.devices.backends import run
    from pcielab.devices.bridge import bridged
    from pcielab.devices.contract import broken_promises
    from pcielab.devices.cpu import HostOptions
    from pcielab.devices.facts import Condition, DeviceFacts, HostFacts, LinkFacts, Remarks, Timer
    from pcielab.devices.host import RealHost
    from pcielab.devices.kind import Asked, Carrier, Kind, Takes
    from pcielab.devices.protocols import (
        Backend,
        BandwidthSlice,
        Device,
        Host,
        LatencySlice,
        Start,
        address_offsets,
    )
    from pcielab.devices.registry import kinds, open_kind

__all__ = [
    "Asked",
    "Backend",
    "BandwidthSlice",
    "Carrier",
    "Condition",
    "Device",
    "DeviceFacts",
    "DeviceLostError",
    "Host",
    "HostFacts",
    "HostOptions",
    "Kind",
    "LatencySlice",
    "LinkFacts",
    "NotSupportedError",
    "RealHost",
    "Remarks",
    "Start",
    "Stop",
    "Takes",
    "Timer",
    "UnavailableError",
    "address_offsets",
    "bridged",
    "broken_promises",
    "kinds",
    "open_kind",
    "run",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "pcielab.devices.backends": ["run"],
        "pcielab.devices.bridge": ["bridged"],
        "pcielab.devices.cpu": ["HostOptions"],
        "pcielab.devices.host": ["RealHost"],
        "pcielab.devices.contract": ["broken_promises"],
        "pcielab.devices.facts": ["Condition", "DeviceFacts", "HostFacts", "LinkFacts", "Remarks", "Timer"],
        "pcielab.devices.kind": ["Asked", "Carrier", "Kind", "Takes"],
        "pcielab.devices.registry": ["kinds", "open_kind"],
        "pcielab.devices.protocols": [
            "Backend",
            "BandwidthSlice",
            "Device",
            "Host",
            "LatencySlice",
            "Start",
            "address_offsets",
        ],
    },
)
