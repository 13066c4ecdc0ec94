"""Questions as the compiled half takes them.

Written by `make generate` from `crates/pcie-python/src/model.rs`: change the types there.
"""

from typing import Any, Literal, TypeAlias, TypedDict

LoadKind: TypeAlias = Literal["read", "read-write"]
"""What busy cores do with memory."""


class BandwidthQuestion(TypedDict):
    """A question about DMA transfers."""

    model: dict[str, Any]
    """Link, accounting and limits."""
    sizes_bytes: list[int]
    """Sizes."""
    offset_bytes: int
    """Start address of transfers modulo 4 KiB."""
    completion_bytes: int | None
    """Boundary at which the host cuts completions; null for MPS."""
    low_share: float | None
    """Share of the transfers with addresses below 4 GiB; null where all have those of the link."""


class NicQuestion(TypedDict):
    """A question about a NIC."""

    model: dict[str, Any]
    """Link, accounting and limits."""
    ethernet: dict[str, Any]
    """The line."""
    frames_bytes: list[int]
    """Sizes of frames, FCS included."""
    low_share: float | None
    """Share of the transfers with addresses below 4 GiB; null where all have those of the link."""


class SizingQuestion(TypedDict):
    """A question about keeping up with a line."""

    ethernet: dict[str, Any]
    """The line."""
    clock_ghz: float | None
    """Its clock; null without cycles."""
    latencies_ns: list[float]
    """Latencies of one DMA."""
    frames_bytes: list[int]
    """Sizes of frames, FCS included."""


class LinkSizingQuestion(TypedDict):
    """A question about filling a link with reads."""

    model: dict[str, Any]
    """Link and accounting."""
    sizes_bytes: list[int]
    """Sizes."""
    latencies_ns: list[float]
    """Round trips of a read request."""
    completion_bytes: int | None
    """Boundary at which the host cuts completions; null for MPS."""
    clock_ghz: float | None
    """Clock of the device; null without cycles."""


class EngineQuestion(TypedDict):
    """A question about an engine."""

    link: dict[str, Any] | None
    """The link; null for the engine's usual one."""
    sizes_bytes: list[int]
    """Data of a command."""
    depth: int | None
    """Commands in flight; null for the engine's usual number."""


class ExpanderQuestion(TypedDict):
    """A question about a memory expander."""

    read_shares: list[float]
    """Shares of the lines that are read."""
    loads: list[float]
    """Shares of the peak at which to tell how long a read takes."""
    cores: dict[str, Any] | None
    """Cores whose lines in flight may limit it; null: any number."""


class InterleavedQuestion(TypedDict):
    """A question about memories that lines are interleaved over."""

    weights: list[float]
    """Weights of the expanders, in their order."""
    local: dict[str, Any] | None
    """Memory of the host among them; null: none."""
    local_weight: float
    """Its weight."""
    read_shares: list[float]
    """Shares of the lines that are read."""
    loads: list[float]
    """Shares of the peak at which to tell how long a read takes."""


class MmioQuestion(TypedDict):
    """A question about loads and stores."""

    link: dict[str, Any]
    """The link."""
    accesses: list[dict[str, Any]]
    """The accesses."""


class MessagesQuestion(TypedDict):
    """A question about messages."""

    model: dict[str, Any]
    """Link, accounting and limits."""
    payloads_bytes: list[int]
    """Sizes of payloads."""
    flushes: int
    """Partial flushes that cut the buffers of a message."""


class HostQuestion(TypedDict):
    """A question about a loaded host."""

    cores: list[int]
    """Numbers of busy cores."""
    kind: LoadKind | None
    """What they do; null for what the system says, or `read-write`."""
    size_bytes: int
    """Bytes of a transfer."""
    misses_per_mib: float | None
    """IO-TLB misses for each MiB of data; null for one for each page that a driver gives anew."""
    devices: list[dict[str, Any]]
    """Links of the devices; empty for the system's one device."""
