"""Bandwidths of flows that share a switch: an estimate in milliseconds, and the simulation.

python examples/share_a_switch.py
"""

from pcielab import fabric

testbed = fabric.load("fabrex-u55c")
flows = testbed.flows("table2")
estimated = fabric.estimate(testbed, flows).flows.set_index("flow")["gbytes_per_s"]
simulated = fabric.simulate(testbed, flows, duration_us=50).flows.set_index("flow")["gbytes_per_s"]
for flow in flows["name"]:
    print(f"{flow}: {estimated[flow]:.2f} GB/s estimated, {simulated[flow]:.2f} GB/s simulated")
