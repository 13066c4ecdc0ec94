"""Routable fabrics: what each flow through a tree of switches gets.

    from pcielab import fabric

    testbed = fabric.load("fabrex-u55c")
    flows = testbed.flows("table2")
    fabric.estimate(testbed, flows).flows

Topologies are TOML files, the shipped ones found by name. The arithmetic is Rust (`crates/pcie-fabric`).
"""

from pcielab.fabric.estimate import METHODS, Estimate, Method, estimate, influences, rounds
from pcielab.fabric.files import FabricFile, Flow, json_schema
from pcielab.fabric.load import Fabric, load, names

__all__ = [
    "METHODS",
    "Estimate",
    "Fabric",
    "FabricFile",
    "Flow",
    "Method",
    "estimate",
    "influences",
    "json_schema",
    "load",
    "names",
    "rounds",
]
