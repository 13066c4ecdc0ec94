"""Names of the package, loaded at first use: `pcielab.on_demand` reads this file."""

from pcielab._core import (
    DeviceLostError as DeviceLostError,
    NotSupportedError as NotSupportedError,
    Stop as Stop,
    UnavailableError as UnavailableError,
)
from pcielab.devices.backends import broken_promises as broken_promises, run as run
from pcielab.devices.bridge import bridged as bridged
from pcielab.devices.cpu import HostOptions as HostOptions
from pcielab.devices.facts import (
    Condition as Condition,
    DeviceFacts as DeviceFacts,
    HostFacts as HostFacts,
    LinkFacts as LinkFacts,
    Remarks as Remarks,
    Timer as Timer,
)
from pcielab.devices.host import RealHost as RealHost
from pcielab.devices.kind import Asked as Asked, Carrier as Carrier, Kind as Kind, Takes as Takes
from pcielab.devices.protocols import (
    Backend as Backend,
    BandwidthSlice as BandwidthSlice,
    Device as Device,
    Host as Host,
    LatencySlice as LatencySlice,
    Start as Start,
    address_offsets as address_offsets,
)
from pcielab.devices.registry import kinds as kinds, open_kind as open_kind
