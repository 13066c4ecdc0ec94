"""Questions as the compiled half takes them.

Written by `make generate` from `crates/pcie-python/src/model.rs`: change the types there.
"""

from typing import Any, TypedDict


class BandwidthQuestion(TypedDict):
    """What is asked about DMA transfers."""

    model: dict[str, Any]
    """Link, accounting and limits."""
    sizes_bytes: list[int]
    """Sizes."""
    offset_bytes: int
    """How far above a 4 KiB boundary transfers start."""
    completion_bytes: int | None
    """Where the host's completions end; null for as large as MPS."""


class NicQuestion(TypedDict):
    """What is asked about a NIC."""

    model: dict[str, Any]
    """Link, accounting and limits."""
    device: dict[str, Any]
    """The NIC."""
    ethernet: dict[str, Any]
    """The line."""
    frames_bytes: list[int]
    """Sizes of frames, FCS included."""


class SizingQuestion(TypedDict):
    """What is asked about keeping up with a line."""

    ethernet: dict[str, Any]
    """The line."""
    device: dict[str, Any] | None
    """The NIC; null for one that moves packets alone."""
    clock_ghz: float | None
    """Its clock; null where cycles are not asked for."""
    latencies_ns: list[float]
    """Latencies of one DMA."""
    frames_bytes: list[int]
    """Sizes of frames, FCS included."""


class MessagesQuestion(TypedDict):
    """What is asked about messages."""

    model: dict[str, Any]
    """Link, accounting and limits."""
    profile: dict[str, Any]
    """Core and device."""
    payloads_bytes: list[int]
    """Sizes of payloads."""
    flushes: int
    """Partial flushes that cut the buffers of a message."""
