"""Questions as the compiled half takes them.

Written by `make generate` from `crates/pcie-python/src/model.rs`: change the types there.
"""

from typing import Any, TypedDict


class BandwidthQuestion(TypedDict):
    """To be written."""

    model: dict[str, Any]
    """To be written."""
    sizes_bytes: list[int]
    """To be written."""
    offset_bytes: int
    """To be written."""
    completion_bytes: int | None
    """To be written."""


class NicQuestion(TypedDict):
    """To be written."""

    model: dict[str, Any]
    """To be written."""
    device: dict[str, Any]
    """To be written."""
    ethernet: dict[str, Any]
    """To be written."""
    frames_bytes: list[int]
    """To be written."""


class SizingQuestion(TypedDict):
    """To be written."""

    ethernet: dict[str, Any]
    """To be written."""
    device: dict[str, Any] | None
    """To be written."""
    clock_ghz: float | None
    """To be written."""
    latencies_ns: list[float]
    """To be written."""
    frames_bytes: list[int]
    """To be written."""


class MessagesQuestion(TypedDict):
    """To be written."""

    model: dict[str, Any]
    """To be written."""
    profile: dict[str, Any]
    """To be written."""
    payloads_bytes: list[int]
    """To be written."""
    flushes: int
    """To be written."""
