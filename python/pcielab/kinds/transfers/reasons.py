"""Possible causes of a bandwidth below its bounds: properties of the test on its machine, as phrases.

Each costs time that no bound charges for; whether it did is not proved.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pcielab import _core
from pcielab.kinds.machine_facts import MachineFacts
from pcielab.library.profiles.parts import System
from pcielab.wording import byte_size

LINE_BYTES, WORD_BYTES = 64, 8
NEEDED = ("operation", "cache", "size_bytes", "window_bytes", "host_offset_bytes", "device_offset_bytes")
"""The parameters of a test that its reasons rest on."""
_SMALLEST_IO_TLB = 64
"""Entries that the pcie-bench paper infers (section 6.5): the smallest IO-TLB measured."""


def reasons(facts: MachineFacts, test: Mapping[str, Any], *, tags_charged: bool) -> list[str]:
    """Phrases for a test, the costliest causes first; `tags_charged`: whether tags are among its bounds."""
    found = [*_translation(facts, test), *_memory(facts, test), *_alignment(test)]
    reads = test["operation"] != "bw-wr"
    if reads and not tags_charged:
        found.append("tags: no latency row to charge them with")
    if facts.system is not None:
        found += _stalls(facts.system, test)
        # Completion order costs a few percent: mentioned only if nothing costs more.
        return found or list(_order(facts.system, test))
    return [*found, "latency under load: not known"] if reads else [*found, "the device's own rate: not known"]


def _translation(facts: MachineFacts, test: Mapping[str, Any]) -> Iterator[str]:
    """The window reaches over more pages than the IO-TLB holds."""
    page_bytes = _core.IOMMU_PAGE_BYTES.get(facts.setup.iommu or "off")
    if page_bytes is None:
        return
    pages, size = -(-test["window_bytes"] // page_bytes), byte_size(page_bytes)
    if facts.system is None:
        if pages > _SMALLEST_IO_TLB:
            yield f"IO-TLB: {pages} pages of {size}, its size is not known"
        return
    entries = facts.system.host.iommu.tlb.entries
    if pages > entries:
        yield f"IO-TLB: {pages} pages of {size} over {entries} entries"


def _memory(facts: MachineFacts, test: Mapping[str, Any]) -> Iterator[str]:
    """Lines outside the last-level cache of the device's socket."""
    local = facts.setup.memory_is_local
    if local is False:
        yield "remote memory"
    if test["operation"] == "bw-wr":
        return
    if test["cache"] in ("cold", "device-thrash"):
        yield f"cold memory ({test['cache']})"
    elif facts.capacities is not None:
        kept = facts.capacities
        kept_bytes = kept.host_lines_bytes if test["cache"] == "host-warm" else kept.device_lines_bytes
        if test["window_bytes"] > kept_bytes:
            yield f"memory: the window exceeds the cache that {test['cache']} fills"


def _alignment(test: Mapping[str, Any]) -> Iterator[str]:
    """Transfers that start or end within a cache line of the host or a word of the device."""
    if test["host_offset_bytes"] % LINE_BYTES:
        yield f"unaligned on the host (offset {test['host_offset_bytes']})"
    if test["device_offset_bytes"] % WORD_BYTES:
        yield f"unaligned on the device (offset {test['device_offset_bytes']})"
    if test["size_bytes"] % LINE_BYTES and test["operation"] != "bw-wr":
        yield "ends inside a cache line"


def _stalls(system: System, test: Mapping[str, Any]) -> Iterator[str]:
    """A machine that no read keeps awake."""
    if test["operation"] == "bw-wr" and system.host.idle is not None:
        milliseconds = system.host.idle.stalls.duration_ns / 1e6
        yield f"idle states: stalls of {milliseconds:.1f} ms that only reads in flight prevent"


def _order(system: System, test: Mapping[str, Any]) -> Iterator[str]:
    """One late completion holds up every request behind its tag."""
    if test["operation"] != "bw-wr" and system.host.root_complex.completion_order != "fifo":
        yield "tags are used in order, completions come out of order"
