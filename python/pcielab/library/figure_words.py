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
COMPLETIONS: Mapping[str, str] = {
    "polled": "the processor polls for completions",
    "interrupt": "an interrupt announces them",
}
"""What `--completion` may be, and its meaning."""
