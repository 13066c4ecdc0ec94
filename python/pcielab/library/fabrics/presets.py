"""Presets of hosts and devices for fabrics: the name of a node's host or device that its file does not describe.

Those of devices are files under `profiles/fabrics/devices`. Those of hosts are the shipped host profiles, whose
times are converted to the few that a fabric has.
"""

from functools import cache
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from pcielab.library import shipped
from pcielab.library.fabrics.parts import Engine, Host, MemoryParameters
from pcielab.library.profiles import check_file
from pcielab.library.profiles.part import Fits, Name, Part, Title
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.profiles.quantity_types import Size
from pcielab.library.validation import read_as

DEFAULT_HOST = "gen5-server"
"""Preset of a host whose file names none: the only shipped host with present-day slots."""
SOFTWARE_NS = 150.0
"""Software before a command is sent (rPCIeBench paper, section 4.2); host profiles have no software."""
MEMORY_BYTES = 4 << 30
"""Memory of a host for transfers, as in the testbed of the rPCIeBench paper."""


class Memory(MemoryParameters):
    """A memory of a device."""

    bar_bytes: Size | None = None
    """Size of its BAR; absent: only the device's own engines reach it."""


class Device(Part):
    """A kind of device."""

    memories: list[Memory] = Field(default=[])
    """Its memories."""
    engine: Engine
    """Its DMA engines."""


class DevicePreset(Device):
    """A file under `profiles/fabrics/devices`."""

    name: Name
    """Short name."""
    title: Title
    """One line for people."""
    delay_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """Delay from the port to the memory, for nodes that give none."""
    provenance: Provenance
    """Source of the values."""

    def device(self) -> Device:
        """The device without the keys that only presets have."""
        return Device(memories=self.memories, engine=self.engine)


class HostPreset(NamedTuple):
    """A host profile as a kind of server."""

    host: Host
    delay_ns: float
    """Delay from the port to the root complex, for nodes that give none."""


def device_presets() -> list[str]:
    """The names of the presets of devices."""
    return list(shipped.fabric_device_files())


def host_presets() -> list[str]:
    """The names of the presets of hosts."""
    return list(shipped.profile_files("host"))


@cache
def device_preset(name: str) -> DevicePreset:
    """The preset of a device, by its name in `device_presets`."""
    return read_as(DevicePreset, shipped.fabric_device_files()[name])


@cache
def host_preset(name: str) -> HostPreset:
    """The preset of a host, by its name in `host_presets`.

    A posted write takes `write_ns` to the memory, which is the delay of the node. A read that misses the cache
    takes `read_ns + miss_ns`; the memory takes the part of it that is not the delay there and back.
    """
    table: Any = check_file("host", name).values
    complex_, memory = table["root_complex"], table["memory"]
    delay_ns = float(complex_["write_ns"])
    host = Host(
        sockets=table["sockets"],
        other_socket_ns=float(memory["remote_ns"]) / 2,
        memory_read_ns=max(0.0, complex_["read_ns"] + memory["miss_ns"] - 2 * delay_ns),
        software_ns=SOFTWARE_NS,
        memory_bytes=MEMORY_BYTES,
    )
    return HostPreset(host, delay_ns)
