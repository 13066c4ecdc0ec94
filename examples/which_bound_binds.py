"""The bound that limits a NIC, by frame size: arithmetic, without a simulation.

python examples/which_bound_binds.py
"""

from pcielab import model

LINK = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)

for name in ("simple-nic", "niantic-kernel", "niantic-dpdk"):
    nic = model.load_nic(name)
    for found in model.nic(nic, LINK, [64, 512, 1514]):
        print(f"{name}, {found.frame_bytes} B frames: {found.bi.gbps:.1f} Gb/s each way, {found.bi.bound} binds")
