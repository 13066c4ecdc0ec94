"""Ways to raise a rate, by the bound that binds it."""

from collections.abc import Mapping

REMEDIES: Mapping[str, str] = {
    "wire-upstream": "larger transfers or MPS, fewer bytes beside the data, more lanes or a later generation",
    "wire-downstream": "larger transfers or MPS, fewer bytes beside the data, more lanes or a later generation",
    "tags": "more read requests in flight (link.tags), larger ones (link.mrrs_bytes), or a shorter round trip",
    "posted-credits": "larger write buffers at the root complex (its posted credits), or a faster drain",
    "non-posted-credits": "larger read request buffers at the root complex (its non-posted credits)",
    "latency": "more DMAs in flight, or a shorter round trip",
    "device-rate": "a device that starts DMAs faster, or larger transfers",
    "device-port": "a device whose port sends in smaller units, or transfers that fill them",
    "root-port": "a root port that sends in smaller units, or transfers that fill them",
    "request-rate": "a root complex that takes read requests faster, or larger requests (link.mrrs_bytes)",
    "write-rate": "a root complex that takes writes faster, or larger writes (link.mps_bytes)",
    "receive-buffers": "a device that takes data in faster, or with larger buffers",
    "completion-buffer": "a larger buffer for completions (device.dma.completion_buffer_bytes or _headers)",
    "page-walks": "larger pages, a window that the IO-TLB covers, or more page walkers (host.iommu.walkers)",
    "translation": "2 MiB pages, buffers that keep their pages (host.iommu.page_life), or more page walkers",
    "write-pool": "a root complex that holds more lines of writes, or a shorter way to memory",
    "read-pool": "a root complex that holds more lines of reads, or memory with a shorter latency",
    "memory": "fewer cores that read and write memory beside the device (host.load), or more memory channels",
    "store-interval": "more bytes in each store: write-combining buffers",
    "core-stores": "a core that stores faster, or descriptors, which leave the data to the device",
}
"""Remedy for each bound of `pcielab.model`."""
