"""The simulated host for devices that are simulated elsewhere: traces of DMA that each of them plays.

The host is `crates/pcie-port`, which is a C library, too.
"""
