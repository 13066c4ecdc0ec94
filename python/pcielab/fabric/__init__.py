"""Routable fabrics: the share of each flow through a tree of switches.

    from pcielab import fabric

    testbed = fabric.load("fabrex-u55c")
    flows = testbed.flows("table2")
    fabric.estimate(testbed, flows).flows

Topologies are TOML files, the shipped ones found by name. The arithmetic is Rust (`crates/pcie-fabric`).
"""

from pcielab.fabric.drawing import drawn
from pcielab.fabric.estimate import METHODS, Estimate, Method, estimate, influences, rounds
from pcielab.fabric.from_machine import WrittenFabric, fabric_of
from pcielab.fabric.paths import DevicePath, Limit, path
from pcielab.fabric.placements import Placements, placements
from pcielab.fabric.run import Flows, flow_set
from pcielab.fabric.runtime import POLICIES, Hold, Policy, PolicyName, Runtime, Waiting
from pcielab.fabric.shares import shares
from pcielab.fabric.simulate import DISCIPLINES, Simulated, simulate
from pcielab.fabric.standalone import check_by_simulation, excessive, simulated_standalones
from pcielab.fabric.trace import Trace
from pcielab.fabric.written_flows import PATTERNS, with_limits, written_flows
from pcielab.library.fabrics.experiments import FabricSuite, Point, load_fabric_suite, suite_names
from pcielab.library.fabrics.files import FabricFile, json_schema
from pcielab.library.fabrics.load import Fabric, check_ends, load, names
from pcielab.library.fabrics.parts import Discipline, Flow
from pcielab.store.flows import PHASES, flow_table, request_table

__all__ = [
    "DISCIPLINES",
    "METHODS",
    "PATTERNS",
    "PHASES",
    "POLICIES",
    "DevicePath",
    "Discipline",
    "Estimate",
    "Fabric",
    "FabricFile",
    "FabricSuite",
    "Flow",
    "Flows",
    "Hold",
    "Limit",
    "Method",
    "Placements",
    "Point",
    "Policy",
    "PolicyName",
    "Runtime",
    "Simulated",
    "Trace",
    "Waiting",
    "WrittenFabric",
    "check_by_simulation",
    "check_ends",
    "drawn",
    "estimate",
    "excessive",
    "fabric_of",
    "flow_set",
    "flow_table",
    "influences",
    "json_schema",
    "load",
    "load_fabric_suite",
    "names",
    "path",
    "placements",
    "request_table",
    "rounds",
    "shares",
    "simulate",
    "simulated_standalones",
    "suite_names",
    "with_limits",
    "written_flows",
]
