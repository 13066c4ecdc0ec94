"""Do more DDIO ways help this device? One test on a system and on the same system with one value changed.

python examples/what_if.py
"""

import pcielab

TEST = pcielab.single_test("lat-rd", size=64, window="4M", cache="device-warm")

system = pcielab.load_system("snb")
for ways in (2, 8):
    run = pcielab.simulate(system.with_(llc_ddio_ways=ways), TEST)
    row = run.frame.iloc[0]
    print(f"{ways} ways for DDIO: {row['median_ns']:.0f} ns, {run.origin}")
