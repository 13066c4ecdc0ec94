"""Every value of a shipped NIC that binds at its line has a source or an interval."""

import json

import pytest

from pcielab import Frames, load_system, model
from pcielab.errors import InputError
from pcielab.library.shipped import profile_files
from single_changes import MIDDLE, nic_scalars

LINES_GBPS = {
    "connectx-5": 100.0,
    "connectx-6-dx": 200.0,
    "connectx-6-kernel": 200.0,
    "connectx-6-kernel-jumbo": 200.0,
    "connectx-7": 400.0,
    "e810-kernel": 100.0,
    "intel-82599": 10.0,
    "intel-e810": 100.0,
    "niantic-dpdk": 40.0,
    "niantic-kernel": 40.0,
    "simple-nic": 40.0,
}
SIZES = (64, 256, 1024, 1518, 9000)
KEYS = {
    "descriptors-held": ("queues.descriptors_held", "prefetch"),
    "ring": ("queues.ring_descriptors", "rings of"),
    "transmit-fifo": ("queues.transmit_fifo_bytes", "FIFO"),
    "receive-fifo": ("queues.receive_fifo_bytes", "FIFO"),
}
"""The key of each bound of a NIC's own, and words of a provenance that gives its value."""


def test_every_nic_has_a_line() -> None:
    assert set(LINES_GBPS) == set(profile_files("nic"))


@pytest.mark.parametrize("name", LINES_GBPS)
def test_a_value_that_binds_has_a_source_or_an_interval(name: str) -> None:
    nic, machine = model.load_nic(name), load_system("gen5-x16").with_({"device": "direct-dma"})
    intervals = set(json.loads(nic.handle.intervals()))
    known = intervals | {key for key, words in KEYS.values() if words in nic.provenance}
    binding = set()
    for size in SIZES:
        frames = Frames(nic, [size], model.Ethernet(line_gbps=LINES_GBPS[name]), nic.direction)
        try:
            scalars = nic_scalars(machine.system, frames, MIDDLE)
        except InputError:  # longer than its buffers
            continue
        assert scalars is not None
        bounds = {one["subject"] for one in scalars if one["metric"] == "binds"}
        binding |= {KEYS[bound][0] for bound in bounds & set(KEYS)}
    assert binding <= known, f"{binding - known} of {name} bind, and neither a source nor an interval is given"
