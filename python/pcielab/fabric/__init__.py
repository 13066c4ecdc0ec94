"""Routable fabrics: the share of each flow through a tree of switches.

    from pcielab import fabric

    testbed = fabric.load("fabrex-u55c")
    flows = testbed.flows("table2")
    fabric.estimate(testbed, flows).flows

Topologies are TOML files, the shipped ones found by name. The arithmetic is Rust (`crates/pcie-fabric`).
"""

from pcielab.on_demand import names_on_demand

__getattr__, __dir__ = names_on_demand(__name__, __file__)
