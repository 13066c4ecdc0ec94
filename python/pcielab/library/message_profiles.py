"""Profiles of sending messages: a core, a device and the times between them, TOML files under `profiles/pio`.

The crate pcie-model owns what the values mean; files, units, provenance and helpful errors belong here. The link
and the host are those of the system that the profile names.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from pcielab import _core
from pcielab.errors import found_in
from pcielab.library import shipped
from pcielab.library.finding import profile_file
from pcielab.library.input_files import read_toml
from pcielab.library.link import Link
from pcielab.library.profiles import ResolvedSystem, resolve
from pcielab.library.profiles.part import Count, Name, Nanoseconds, Part, Size32, Title
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.validation import explain


class Core(Part):
    """A core and its write-combining buffers."""

    write_combining_buffers: Count
    """Write-combining buffers."""
    fill_ns: Nanoseconds
    """Filling one buffer of 64 B with stores."""
    fence_ns: Nanoseconds
    """A fence: it flushes the buffers that are not full."""
    lock_ns: Nanoseconds
    """Taking a lock that another core held."""


class StoreTimes(Part):
    """When full buffers follow each other on the link."""

    first_interval_ns: Nanoseconds
    """From the first to the second buffer of a message sent alone."""
    stream_interval_ns: Nanoseconds
    """From one buffer to the next in a stream."""


class TransmitQueue(Part):
    """The transmit queue of the device, which buffers are written to."""

    capacity_bytes: Size32
    """Its space, in whole buffers of 64 B."""
    drain_ns: Nanoseconds
    """The device takes 64 B out of it in this time."""
    credit_return_ns: Nanoseconds
    """From the space being free on the device to the core knowing it."""


class DescriptorPath(Part):
    """Descriptor DMA: what crosses the link for a message, and when."""

    doorbell_bytes: Count
    """The doorbell's store."""
    descriptor_bytes: Count
    """A descriptor."""
    write_back_bytes: Count
    """What the device writes back of a descriptor."""
    interrupt_bytes: Count
    """An interrupt's write."""
    messages_per_doorbell: Count
    """Messages that one doorbell, one descriptor read and one write-back are for."""
    messages_per_interrupt: Count
    """Messages that one interrupt is for."""
    messages_in_flight: Count
    """Messages between their doorbell and their payload at one time."""
    descriptor_ns: Nanoseconds
    """From the doorbell to the descriptor's completion, packet start to packet start."""
    payload_request_ns: Nanoseconds
    """From the doorbell to the request of the payload."""
    payload_ns: Nanoseconds
    """From the doorbell to the payload's completion."""
    measured_payload_bytes: Count
    """Payload of the message that these times are of."""
    cpu_ns: Nanoseconds
    """What the core does for a message: the descriptor, the fence behind it, the doorbell."""


class LoopbackTimes(Part):
    """A loopback through the device, measured at one size."""

    measured_packet_bytes: Count
    """Size of the packet measured."""
    total_ns: Nanoseconds
    """From the first store until the packet is back in memory."""
    pcie_ns: Nanoseconds
    """PCIe's part of it."""
    line_gbps: float = Field(gt=0)
    """The line that the packet crosses."""


class Answers(Part):
    """What comes back on the link: acknowledgements, and messages that the device loops back to host memory."""

    store_acknowledged_ns: Nanoseconds
    """From the end of a store at the device that takes stores to its acknowledgement."""
    descriptor_acknowledged_ns: Nanoseconds
    """The same of a packet for the device that takes descriptors."""
    request_acknowledged_ns: Nanoseconds
    """The same of a request at the root complex."""
    loop_back_ns: Nanoseconds
    """From a message leaving the filter to the first write of its buffers to host memory."""
    loop_back_gap_ns: Nanoseconds
    """Between these writes, beyond what each takes on the link."""


class MessageProfile(Part):
    """A file under `profiles/pio`."""

    name: Name
    """Short name."""
    title: Title
    """One line for people."""
    provenance: Provenance
    """Where the values come from."""
    system: Name
    """The system that the times were measured on: a shipped one, or the path of a file."""
    address_bits: Literal[32, 64]
    """Width of the addresses of the device's memory and of the buffers: headers of 3 or 4 DW."""
    header_bytes: Count
    """Bytes of headers in front of the payload of every message, at least 8."""
    core: Core
    """The core."""
    stores: StoreTimes
    """Stores on the link."""
    queue: TransmitQueue
    """The device's transmit queue."""
    descriptors: DescriptorPath
    """The descriptor path."""
    loopback: LoopbackTimes | None = None
    """A loopback through the device, where one was measured."""
    answers: Answers | None = None
    """What comes back on the link, where traces show it: steps of simulated messages that hold nothing up."""

    @property
    def resolved_system(self) -> ResolvedSystem:
        """The system that the times were measured on."""
        return resolve(self.system)

    @property
    def link(self) -> Link:
        """The link that the times were measured on; what the host stores carries no ECRC."""
        link = self.resolved_system.system.link
        return Link(
            generation=link.generation,
            lanes=link.lanes,
            mps_bytes=link.mps_bytes,
            mrrs_bytes=link.mrrs_bytes,
            rcb_bytes=link.rcb_bytes,
            address_bits=self.address_bits,
            flit_mode=link.flit,
        )

    def with_changes(self, *, buffers: int | None = None, in_flight: int | None = None) -> "MessageProfile":
        """The profile with another number of write-combining buffers, or of messages in flight."""
        changed = self
        if buffers is not None:
            core = self.core.model_copy(update={"write_combining_buffers": buffers})
            changed = changed.model_copy(update={"core": core})
        if in_flight is not None:
            path = self.descriptors.model_copy(update={"messages_in_flight": in_flight})
            changed = changed.model_copy(update={"descriptors": path})
        return changed

    def as_question(self) -> dict[str, Any]:
        """The profile as the compiled half takes it."""
        fields = self.model_dump(mode="json", exclude={"title", "provenance", "system", "address_bits"})
        return {"link": asdict(self.link), **fields}


def shipped_message_profiles() -> list[str]:
    """Names that `load_message_profile` knows."""
    return list(shipped.profile_files("messages"))


def load_message_profile(name_or_file: str | Path) -> MessageProfile:
    """Read a shipped profile by name, or any by its file.

    Raises:
        InputError: no such profile, or a file that is not one; names the file and the key.
    """
    path = profile_file("messages", name_or_file)
    content = read_toml(path)
    try:
        profile = MessageProfile.model_validate(content)
    except ValidationError as error:
        raise explain(error, MessageProfile, str(path)) from error
    with found_in(path):
        _core.model_check_messages(json.dumps(profile.as_question()))
    return profile
