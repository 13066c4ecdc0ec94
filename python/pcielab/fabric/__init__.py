"""Routable fabrics: what each flow through a tree of switches gets.

    from pcielab import fabric

    testbed = fabric.load("fabrex-u55c")
    flows = testbed.flows("table2")
    fabric.estimate(testbed, flows).flows

Topologies are TOML files, the shipped ones found by name. The arithmetic is Rust (`crates/pcie-fabric`).
"""

from pcielab.fabric.estimate import METHODS, Estimate, Method, estimate, influences, rounds
from pcielab.fabric.experiments import FabricSuite, Point, load_fabric_suite, suite_names
from pcielab.fabric.files import FabricFile, Flow, json_schema
from pcielab.fabric.load import Fabric, check_ends, load, names
from pcielab.fabric.published import compare_with_published
from pcielab.fabric.run import flow_set, run
from pcielab.fabric.runtime import POLICIES, Policy, PolicyName, Runtime, Trace, Waiting
from pcielab.fabric.simulate import DISCIPLINES, PHASES, Discipline, Simulated, simulate

__all__ = [
    "DISCIPLINES",
    "METHODS",
    "PHASES",
    "POLICIES",
    "Discipline",
    "Estimate",
    "Fabric",
    "FabricFile",
    "FabricSuite",
    "Flow",
    "Method",
    "Point",
    "Policy",
    "PolicyName",
    "Runtime",
    "Simulated",
    "Trace",
    "Waiting",
    "check_ends",
    "compare_with_published",
    "estimate",
    "flow_set",
    "influences",
    "json_schema",
    "load",
    "load_fabric_suite",
    "names",
    "rounds",
    "run",
    "simulate",
    "suite_names",
]
