"""What would raise a rate, by the bound that binds it, in words."""

from collections.abc import Mapping

REMEDIES: Mapping[str, str] = {
    "wire-upstream": "larger transfers or MPS, fewer bytes beside the data, more lanes or a later generation",
    "wire-downstream": "larger transfers or MPS, fewer bytes beside the data, more lanes or a later generation",
    "tags": "more read requests in flight (link.tags), larger ones (link.mrrs_bytes), or a shorter round trip",
    "posted-credits": "more room for writes at the root complex (its posted credits), or a faster way out of it",
    "non-posted-credits": "more room for read requests at the root complex (its non-posted credits)",
    "latency": "more DMAs in flight, or a shorter round trip",
    "device-rate": "a card that starts DMAs faster, or larger transfers",
    "device-port": "a card whose port sends in smaller units, or transfers that fill them",
    "root-port": "a root port that sends in smaller units, or transfers that fill them",
    "request-rate": "a root complex that takes read requests faster, or larger requests (link.mrrs_bytes)",
    "write-rate": "a root complex that takes writes faster, or larger writes (link.mps_bytes)",
    "receive-buffers": "a card that takes data in faster, or has more room for it",
    "page-walks": "larger pages, a window that the IO-TLB covers, or more page walkers (host.iommu.walkers)",
    "store-interval": "more bytes in each store: write-combining buffers",
    "core-stores": "a core that stores faster, or descriptors, which leave the data to the device",
}
"""What to change, for each bound of `pcielab.model`."""
