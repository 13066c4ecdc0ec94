"""Facts about devices and hosts in a manifest, as `crates/pcie-bench` and importers write them.

A missing or null key is unknown; keys without a field here are ignored. Manifests of foreign stores are checked
when Python opens them, by pydantic: the compiled half passes their facts on as they are.
"""

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

PayloadBytes: TypeAlias = Literal[128, 256, 512, 1024, 2048, 4096]
"""Values of MPS and MRRS."""
BoundaryBytes: TypeAlias = Literal[64, 128]
"""Values of RCB."""
Lanes: TypeAlias = Literal[1, 2, 4, 8, 12, 16, 32]
"""Link widths."""


class Known(BaseModel):
    """Known facts, without conversions."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False, frozen=True)


class Timer(Known):
    """The timer of a device: the length of a tick as a fraction, and clock cycles in it."""

    numerator_ns: int | None = Field(default=None, ge=1)
    denominator: int | None = Field(default=None, ge=1)
    cycles: int | None = Field(default=None, ge=1)


class DeviceLink(Known):
    """The link of a device."""

    rate_gtps: float | None = Field(default=None, gt=0)
    lanes: Lanes | None = None
    mps_bytes: PayloadBytes | None = None
    mrrs_bytes: PayloadBytes | None = None
    rcb_bytes: BoundaryBytes | None = None
    ecrc: bool | None = None


class MemoryTypes(Known):
    """Memory types that the kernel granted to the mappings of a BAR, in its words."""

    uncached: str | None = None
    write_combined: str | None = None


class Device(Known):
    """Facts about a device."""

    name: str | None = None
    timer: Timer | None = None
    dma_transfer_bytes_most: int | None = Field(default=None, ge=0)
    command_transfer_bytes_most: int | None = Field(default=None, ge=0)
    outstanding: int | None = Field(default=None, ge=0)
    address: str | None = None
    board: str | None = None
    vendor_id: int | None = Field(default=None, ge=0, le=0xFFFF)
    device_id: int | None = Field(default=None, ge=0, le=0xFFFF)
    firmware: str | None = None
    driver: str | None = None
    link: DeviceLink | None = None
    operations: list[str] | None = None
    latency_includes: list[str] | None = None
    deadline_ms: int | None = Field(default=None, ge=0)
    memory_types: MemoryTypes | None = None


class Cache(Known):
    """A cache of a host."""

    level: int | None = Field(default=None, ge=0)
    holds: str | None = None
    bytes: int | None = Field(default=None, ge=0)
    shared_by: str | None = None


class Host(Known):
    """Facts about a host."""

    name: str | None = None
    sockets: int | None = Field(default=None, ge=0)
    llc_bytes: int | None = Field(default=None, ge=0)
    buffer_bytes: int | None = Field(default=None, ge=0)
    memory_bytes: int | None = Field(default=None, ge=0)
    device_socket: int | None = Field(default=None, ge=0)
    memory_socket: int | None = Field(default=None, ge=0)
    program_socket: int | None = Field(default=None, ge=0)
    processor: str | None = None
    caches: list[Cache] | None = None
    kernel: str | None = None
    command_line: str | None = None
    page_bytes: int | None = Field(default=None, ge=1)
    node: int | None = Field(default=None, ge=0)
    core: int | None = Field(default=None, ge=0)
    iommu: str | None = None
    cold: str | None = None
    ddio_way_mask: int | None = Field(default=None, ge=1)
    shared_way_mask: int | None = Field(default=None, ge=0)
    io_alloc: str | None = None
    prefetchers_off: list[str] | None = None
    governor: str | None = None
    turbo: bool | None = None
    measured: str | None = None


class Condition(Known):
    """A varying value of a device or host, read before or after a run."""

    metric: str | None = None
    unit: str | None = None
    value: float | None = None


class Source(Known):
    """The source of imported data."""

    format: str | None = None
    directory: str | None = None


class Backend(Known):
    """The backend that ran the tests."""

    kind: str | None = None
    engine: str | None = None
    address: str | None = None
    device: dict[str, Any] | None = None
    host: dict[str, Any] | None = None


class Facts(Known):
    """The parts of a manifest that are facts."""

    device: Device | None = None
    host: Host | None = None
    backend: Backend | None = None
    source: Source | None = None
    conditions_before: list[Condition] | None = None
    conditions_after: list[Condition] | None = None
