"""The keys of a system that each bound is made of, and which of them are borrowed from another machine."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

_READ = (
    "host.root_complex.read_ns",
    "host.root_complex.busy_read_ns",
    "host.memory.host_line_ns",
    "host.memory.miss_ns",
    "host.memory.busy_miss_ns",
)
ROUND_TRIP = (*_READ, "host.root_complex.flight_ns", "host.iommu.walk_ns", "device.dma.tag_return_ns")
"""Keys of the time of a read."""
_RETURN = ("host.root_complex.flight_ns", "host.root_complex.credit_return_ns")
_WALKS = (
    "host.iommu.walk_ns",
    "host.iommu.walkers",
    "host.iommu.walker_busy_ns",
    "host.iommu.pending_walks",
    "host.iommu.tlb.entries",
    "host.iommu.invalidation",
    "host.iommu.strict_walk_reads",
)
_LINK = ("link.generation", "link.lanes", "link.mps_bytes", "link.flit", "link.ecrc")
_READS = ("link.mrrs_bytes", "link.rcb_bytes")

KEYS_OF_BOUNDS: Mapping[str, tuple[str, ...]] = {
    "wire-upstream": (*_LINK, *_READS),
    "wire-downstream": (*_LINK, *_READS),
    "tags": ("link.tags", "device.dma.tags", "link.mrrs_bytes", *ROUND_TRIP),
    "posted-credits": (
        "host.root_complex.posted_header_credits",
        "host.root_complex.posted_data_credits",
        *_RETURN,
    ),
    "non-posted-credits": ("host.root_complex.non_posted_header_credits", *_RETURN),
    "latency": ("device.dma.outstanding", *ROUND_TRIP),
    "device-rate": ("device.dma.request_interval_ns", "device.dma.busy_request_interval_ns"),
    "device-port": (
        *_LINK,
        "device.uplink_quantum_bytes",
        "device.uplink_data_quantum_bytes",
        "device.uplink_gap_bytes",
        "device.uplink_dllp_bytes",
        "host.root_complex.uplink_stretch",
    ),
    "root-port": (
        *_LINK,
        *_READS,
        "host.root_complex.completion_split",
        "host.root_complex.downlink_quantum_bytes",
        "host.root_complex.downlink_dllp_bytes",
        "host.root_complex.downlink_stretch",
    ),
    "request-rate": ("host.root_complex.request_interval_ns", "link.mrrs_bytes"),
    "write-rate": (
        "host.root_complex.write_interval_ns",
        "host.root_complex.write_line_ns",
        "link.mps_bytes",
    ),
    "receive-buffers": ("device.dma.receive_buffers", "host.root_complex.flight_ns"),
    "completion-buffer": (
        "device.dma.completion_buffer_bytes",
        "device.dma.completion_buffer_headers",
        *ROUND_TRIP,
    ),
    "page-walks": (*_WALKS, "host.iommu.walk_region_bytes"),
    "translation": (*_WALKS, "host.iommu.page_life"),
    "write-pool": ("host.root_complex.write_pool_lines", "host.root_complex.write_ns"),
    "read-pool": ("host.root_complex.read_pool_lines", *_READ),
    "memory": (
        "host.memory.saturated_gbytes_per_s",
        "host.memory.traffic_per_written_byte",
        "host.load.cores",
        "host.load.kind",
        "host.load.core_share",
    ),
}
"""Keys of each bound; bounds of messages have none, which a core's profile gives."""


def is_of_host(bound: str) -> bool:
    """Whether the host alone makes a bound."""
    keys = KEYS_OF_BOUNDS.get(bound, ())
    return bool(keys) and all(key.startswith("host.") for key in keys)


def borrowed_sentences(bounds: Iterable[str | None], borrowed: Mapping[str, str]) -> list[str]:
    """For each bound, one sentence on the borrowed keys that it is made of.

    Args:
        bounds: Bounds that bind; each counts once, and those without keys of a system not at all.
        borrowed: The borrowed keys of the system, and the profile that each comes from; empty: no sentences.
    """
    if not borrowed:
        return []
    named = dict.fromkeys(bound for bound in bounds if bound in KEYS_OF_BOUNDS)
    return [f"borrowed keys behind {bound}: {_listed(str(bound), borrowed)}" for bound in named]


def _listed(bound: str, borrowed: Mapping[str, str]) -> str:
    by_profile: defaultdict[str, list[str]] = defaultdict(list)
    for key in KEYS_OF_BOUNDS[bound]:
        if key in borrowed:
            by_profile[borrowed[key]].append(key)
    found = [f"{', '.join(keys)} (from {profile})" for profile, keys in by_profile.items()]
    return "; ".join(found) or "none"
