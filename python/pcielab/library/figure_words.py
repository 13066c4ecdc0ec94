"""The words of questions about measured values: what moves, by which engine, under which condition."""

from collections.abc import Mapping

WHATS: Mapping[str, str] = {
    "h2d": "host to device",
    "d2h": "device to host",
    "both": "both ways at once, the sum",
    "p2p": "device to device",
    "read": "reads by the device (h2d), or by a core (d2h)",
    "write": "writes by the device (d2h), or by a core (h2d)",
    "latency": "time of one transfer or register read",
    "interrupt": "time from a device's interrupt message to its handler",
    "iops": "commands a second",
    "store": "stores of a core to a device's BAR: a time, or a rate",
    "load": "loads of a core from a device's BAR: a time, or a rate",
    "doorbell": "one store that a device waits for: the core's time",
}
"""What `--what` may be, and its meaning."""
ENGINES: Mapping[str, str] = {
    "copy": "copy engine of a GPU",
    "kernel": "loads and stores of a GPU's kernel",
    "dma": "DMA engine of a NIC, drive or FPGA",
    "core": "loads and stores of the processor",
}
"""What `--engine` may be, and its meaning."""
STATES: Mapping[str, str] = {
    "other-way-busy": "the opposite direction is busy: one direction of the two",
    "others-busy": "other devices move data at the same time",
    "remote-socket": "memory on the other socket",
    "iommu": "the IOMMU translates 4 KiB pages",
    "strict-order": "relaxed ordering is off",
    "pageable": "host memory is not pinned",
    "through-host": "P2P is off: copies go through host memory",
    "one-at-a-time": "one transfer in flight",
    "idle-core": "the core sleeps in its deepest idle state",
}
"""What `--state` may be: conditions that the asker knows."""
INSTRUCTIONS: Mapping[str, str] = {
    "uncached-store": "stores to uncached memory",
    "combined-store": "stores to write-combining memory",
    "direct-store": "stores of 64 B in one piece (MOVDIR64B)",
    "enqueue-store": "stores that the device may decline (ENQCMD)",
    "uncached-load": "loads, one at a time",
    "streaming-load": "streaming loads from write-combining memory",
    "read-modify-write": "a load and a store of its value",
    "doorbell": "one uncached store that the device waits for",
    "exchange": "a doorbell and the device's store back",
}
"""What a core does with a device's BAR, and its meaning."""
ACCESSES = ("store", "load", "doorbell")
"""Words of `--what` that a core does with a device's BAR."""
MEMORY_TYPES: Mapping[str, str] = {
    "uc": "uncached: each store is a TLP, each load a round trip",
    "wc": "write-combining: stores leave as lines of 64 B, streaming loads overlap",
}
"""What `--memory-type` may be, and its meaning."""
MEMORIES: Mapping[str, str] = {
    "host": "memory of the host",
    "gpu": "memory of a GPU, which a NIC or drive reaches over PCIe (GPUDirect)",
    "storage": "a drive that another device reads or writes",
}
"""What `--memory` may be, and its meaning: where the data lie."""
COMPLETIONS: Mapping[str, str] = {
    "polled": "the processor polls for completions",
    "interrupt": "an interrupt announces them",
}
"""What `--completion` may be, and its meaning."""
