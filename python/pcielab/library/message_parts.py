"""Messages from a core to a device, as model and simulator take them: keys, ranges, meanings.

Written by `make generate` from `crates/pcie-model/src/pio/profile.rs`: change the types there.
"""

from typing import Annotated

from pcielab.library.profiles.part import Bytes, Fits, Name, Part
from pcielab.library.profiles.quantity_types import Duration, Nanoseconds


class Core(Part):
    """A core and its write-combining buffers."""

    write_combining_buffers: Annotated[int, Fits(type="integer", minimum=1, maximum=4_096)]
    """Write-combining buffers."""
    fill_ns: Duration
    """Filling one buffer of 64 B with stores."""
    fence_ns: Duration
    """A fence: it flushes the buffers that are not full."""
    lock_ns: Duration
    """Taking a lock that another core held."""


class StoreTimes(Part):
    """When full buffers follow each other on the link."""

    first_interval_ns: Duration
    """From the first to the second buffer of a message sent alone."""
    stream_interval_ns: Duration
    """From one buffer to the next in a stream."""


class TransmitQueue(Part):
    """The transmit queue of the device, which buffers are written to."""

    capacity_bytes: Annotated[Bytes, Fits(type="integer", minimum=64, maximum=67_108_864, multipleOf=64)]
    """Its space, in whole buffers of 64 B."""
    drain_ns: Duration
    """The device takes 64 B out of it in this time."""
    credit_return_ns: Duration
    """From the space being free on the device to the core knowing it."""


class DescriptorPath(Part):
    """Descriptor DMA: what crosses the link for a message, and when."""

    doorbell_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=4_096)]
    """The doorbell's store."""
    descriptor_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=4_096)]
    """A descriptor."""
    write_back_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=4_096)]
    """The device's write-back for a descriptor."""
    interrupt_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=4_096)]
    """An interrupt's write."""
    messages_per_doorbell: Annotated[int, Fits(type="integer", minimum=1, maximum=4_096)]
    """Messages that share one doorbell, one descriptor read and one write-back."""
    messages_per_interrupt: Annotated[int, Fits(type="integer", minimum=1, maximum=4_096)]
    """Messages that share one interrupt."""
    messages_in_flight: Annotated[int, Fits(type="integer", minimum=1, maximum=4_096)]
    """Messages in flight at once, from doorbell to payload."""
    descriptor_ns: Duration
    """From the doorbell to the descriptor's completion, packet start to packet start."""
    payload_request_ns: Duration
    """From the doorbell to the request of the payload."""
    payload_ns: Duration
    """From the doorbell to the payload's completion."""
    measured_payload_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=4_096)]
    """Payload of the message measured."""
    cpu_ns: Duration
    """Core time for a message: the descriptor, the fence behind it, the doorbell."""


class LoopbackTimes(Part):
    """A loopback through the device, measured at one size.

    The parts of the link, the stores and the line grow with the size; the rest stays.
    """

    measured_packet_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=4_294_967_295)]
    """Size of the packet measured."""
    total_ns: Nanoseconds
    """From the first store until the packet is back in memory."""
    pcie_ns: Nanoseconds
    """PCIe's part of it."""
    line_gbps: Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)]
    """The line that the packet crosses."""


class Answers(Part):
    """Traffic back to the host: acknowledgements, and messages by stores that the device loops back."""

    store_acknowledged_ns: Nanoseconds
    """From the end of a store at the device that takes stores to its acknowledgement."""
    descriptor_acknowledged_ns: Nanoseconds
    """The same for a packet at the device that takes descriptors."""
    request_acknowledged_ns: Nanoseconds
    """The same for a request at the root complex."""
    loop_back_ns: Nanoseconds
    """From a message leaving the filter to the first write of its buffers to host memory."""
    loop_back_gap_ns: Nanoseconds
    """Gap between these writes, without their time on the link."""


class MessageTimes(Part):
    """How messages go from a core to a device: by stores, and by descriptors.

    Times are of one machine on one link. For another link, the model replaces the link's part of them; the part of
    the core, the root complex and the device stays.
    """

    name: Name
    """Short name."""
    header_bytes: Annotated[Bytes, Fits(type="integer", minimum=8, maximum=1_024)]
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
    """TLPs and acknowledgements back to the host, where traces show them: steps of simulated messages that delay
    nothing."""
