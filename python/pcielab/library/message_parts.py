"""Messages from a core to a device: keys and meanings.

Written by `make generate` from `crates/pcie-model/src/pio/profile.rs`: change the types there.
"""

from pcielab import _core
from pcielab.library.profiles.values import InFile, Values


class Core(Values):
    """A core and its write-combining buffers."""

    write_combining_buffers: int
    """Write-combining buffers."""
    fill_ns: float
    """Filling one buffer of 64 B with stores."""
    fence_ns: float
    """A fence: it flushes the buffers that are not full."""
    lock_ns: float
    """Taking a lock that another core held."""


class StoreTimes(Values):
    """When full buffers follow each other on the link."""

    first_interval_ns: float
    """From the first to the second buffer of a message sent alone."""
    stream_interval_ns: float
    """From one buffer to the next in a stream."""
    core_interval_ns: float | None
    """From one buffer to the next where no link limits: on another link, the slower of both sets the pace. Absent:
    what the measured interval lacks on its link follows every TLP on any link."""
    uncached_interval_ns: float | None
    """From one uncached store to the next where no link limits. Absent: as of buffers."""


class TransmitQueue(Values):
    """The transmit queue of the device, which buffers are written to."""

    capacity_bytes: int
    """Its space, in whole buffers of 64 B."""
    drain_ns: float
    """The device takes 64 B out of it in this time."""
    credit_return_ns: float
    """From the space being free on the device to the core knowing it."""


class DescriptorPath(Values):
    """Descriptor DMA: what crosses the link for a message, and when."""

    doorbell_bytes: int
    """The doorbell's store."""
    descriptor_bytes: int
    """A descriptor."""
    write_back_bytes: int
    """The device's write-back for a descriptor."""
    interrupt_bytes: int
    """An interrupt's write."""
    messages_per_doorbell: int
    """Messages that share one doorbell, one descriptor read and one write-back."""
    messages_per_interrupt: int
    """Messages that share one interrupt."""
    messages_in_flight: int
    """Messages in flight at once, from doorbell to payload."""
    inline_bytes: int | None
    """Messages of at most this many bytes, headers included, are part of their descriptor (inline sends): the
    device reads both at once; absent: none."""
    descriptor_ns: float
    """From the doorbell to the descriptor's completion, packet start to packet start."""
    payload_request_ns: float
    """From the doorbell to the request of the payload."""
    payload_ns: float
    """From the doorbell to the payload's completion."""
    measured_payload_bytes: int
    """Payload of the message measured."""
    cpu_ns: float
    """Core time for a message: the descriptor, the fence behind it, the doorbell."""


class LoadTimes(Values):
    """Loads of the core from the device."""

    round_trip_ns: float
    """A load of 8 B alone."""
    streaming_lines: int
    """Lines that streaming loads from write-combining memory have in flight."""
    enqueues: bool
    """Whether core and device have stores of 64 B that the device may decline."""


class LoopbackTimes(Values):
    """A loopback through the device, measured at one size.

    The parts of the link, the stores and the line grow with the size; the rest stays.
    """

    measured_packet_bytes: int
    """Size of the packet measured."""
    total_ns: float
    """From the first store until the packet is back in memory."""
    pcie_ns: float
    """PCIe's part of it."""
    line_gbps: float
    """The line that the packet crosses."""


class Answers(Values):
    """Traffic back to the host: acknowledgements, and messages by stores that the device loops back."""

    store_acknowledged_ns: float
    """From the end of a store at the device that takes stores to its acknowledgement."""
    descriptor_acknowledged_ns: float
    """The same for a packet at the device that takes descriptors."""
    request_acknowledged_ns: float
    """The same for a request at the root complex."""
    loop_back_ns: float
    """From a message leaving the filter to the first write of its buffers to host memory."""
    loop_back_gap_ns: float
    """Gap between these writes, without their time on the link."""


class MessageTimes(InFile[_core.Messages]):
    """How messages go from a core to a device: by stores, and by descriptors.

    Times are of one machine on one link. For another link, the model replaces the link's part of them; the part of
    the core, the root complex and the device stays.
    """

    name: str
    """Short name."""
    header_bytes: int
    """Bytes of headers in front of the payload of every message, at least 8."""
    core: Core
    """The core."""
    stores: StoreTimes
    """Stores on the link."""
    queue: TransmitQueue
    """The device's transmit queue."""
    descriptors: DescriptorPath
    """The descriptor path."""
    loads: LoadTimes | None
    """Loads from the device, where they are known."""
    loopback: LoopbackTimes | None
    """A loopback through the device, where one was measured."""
    answers: Answers | None
    """TLPs and acknowledgements back to the host, where traces show them: steps of simulated messages that delay
    nothing."""
