"""Facts that devices and hosts report, with the keys of docs/reference/store.md. None: unknown, never a guess."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Timer:
    """A tick of `numerator_ns / denominator` ns, which is `cycles` cycles of the timer's clock."""

    numerator_ns: int
    denominator: int = 1
    cycles: int = 1


@dataclass(frozen=True, kw_only=True)
class LinkFacts:
    """The limits of a link."""

    rate_gtps: float | None = None
    lanes: int | None = None
    mps_bytes: int | None = None
    mrrs_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class DeviceFacts:
    """Facts of a device.

    Attributes:
        deadline_ms: The run gives the device up after this long without a result; None if it only computes.
        dma_transfer_bytes_most: Longest transfer of its DMA engines; None without any.
        command_transfer_bytes_most: Longest transfer that it issues from registers; None if unsupported.
        outstanding: Most transactions in flight.
        address: For example its bus address.
        vendor_id: PCI vendor.
        device_id: PCI device.
        firmware: Version of its firmware.
        driver: Version of its driver.
        link: Limits of its link.
        operations: Tests that it supports, as `command lat-rd`.
        latency_includes: Parts of a latency beside the transfer, as `doorbell` or `timer`.
    """

    name: str
    timer: Timer
    deadline_ms: int | None
    dma_transfer_bytes_most: int | None = None
    command_transfer_bytes_most: int | None = None
    outstanding: int | None = None
    address: str | None = None
    vendor_id: int | None = None
    device_id: int | None = None
    firmware: str | None = None
    driver: str | None = None
    link: LinkFacts | None = None
    operations: tuple[str, ...] = ()
    latency_includes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class HostFacts:
    """Facts of a host.

    Attributes:
        buffer_bytes: Size of the buffer.
        sockets: Number of sockets.
        llc_bytes: Last-level cache of a socket.
        device_socket: Socket of the device.
        memory_socket: Socket of the buffer.
        program_socket: Socket of the control program.
        processor: Model of the processor.
        caches: Caches of the program's core, each with `level`, `holds`, `bytes` and `shared_by`.
        kernel: Name and release of the kernel.
        command_line: Arguments of the kernel.
        page_bytes: Page size of the buffer.
        node: NUMA node of the buffer.
        core: Core that the control program is pinned to.
        iommu: `off`, `super-pages` or `four-kib-pages`.
        cold: How caches are made cold: `thrash` or `flush`.
        ddio_way_mask: Ways of the last-level cache that writes of devices may fill (DDIO), as a mask.
        shared_way_mask: Ways of the last-level cache that devices share with the cores, as resctrl's mask.
        io_alloc: resctrl's `io_alloc`, for example `disabled`.
        prefetchers_off: Prefetchers of the core that are off.
        governor: Governor of the core's clock, as `performance`.
        turbo: Whether cores may exceed their nominal clock.
    """

    name: str
    buffer_bytes: int
    sockets: int | None = None
    llc_bytes: int | None = None
    device_socket: int | None = None
    memory_socket: int | None = None
    program_socket: int | None = None
    processor: str | None = None
    caches: tuple[dict[str, int | str], ...] = ()
    kernel: str | None = None
    command_line: str | None = None
    page_bytes: int | None = None
    node: int | None = None
    core: int | None = None
    iommu: str | None = None
    cold: str | None = None
    ddio_way_mask: int | None = None
    shared_way_mask: int | None = None
    io_alloc: str | None = None
    prefetchers_off: tuple[str, ...] | None = None
    governor: str | None = None
    turbo: bool | None = None


@dataclass(frozen=True)
class Condition:
    """A quantity that changes during use, for example `Condition("temperature", "C", 61.0)`."""

    metric: str
    unit: str
    value: float | None


@dataclass(frozen=True, kw_only=True)
class Remarks:
    """Remarks of a device on the test that it has just done.

    Attributes:
        timer: Tick of this test, if it differs from test to test.
        message: A note on the numbers, on one line; None for nothing.
    """

    timer: Timer | None = None
    message: str | None = None
