"""Names of the package, loaded at first use: `pcielab.on_demand` reads this file."""

from pcielab.fabric.drawing import drawn as drawn
from pcielab.fabric.estimation import (
    Estimate as Estimate,
    Influence as Influence,
    estimate as estimate,
    influence_of_each as influence_of_each,
    influence_table as influence_table,
    influences as influences,
    rounds as rounds,
    shares as shares,
)
from pcielab.fabric.flow_numbers import PHASES as PHASES
from pcielab.fabric.flow_texts import (
    PATTERNS as PATTERNS,
    with_limits as with_limits,
    written_flows as written_flows,
)
from pcielab.fabric.from_machine import WrittenFabric as WrittenFabric, fabric_of as fabric_of
from pcielab.fabric.listed_shares import METHODS as METHODS, Method as Method
from pcielab.fabric.paths import DevicePath as DevicePath, Limit as Limit, path as path
from pcielab.fabric.placing import Placements as Placements, placements as placements
from pcielab.fabric.run import Flows as Flows, flow_set as flow_set
from pcielab.fabric.runtime import (
    POLICIES as POLICIES,
    Hold as Hold,
    Policy as Policy,
    PolicyName as PolicyName,
    Runtime as Runtime,
    Waiting as Waiting,
)
from pcielab.fabric.simulation import DISCIPLINES as DISCIPLINES, Simulated as Simulated, simulate as simulate
from pcielab.fabric.standalone import (
    check_by_simulation as check_by_simulation,
    excessive as excessive,
    simulated_standalones as simulated_standalones,
)
from pcielab.fabric.trace import Trace as Trace
from pcielab.kinds.flows.rows import flow_table as flow_table, request_table as request_table
from pcielab.library.fabrics.experiments import (
    FabricSuite as FabricSuite,
    Point as Point,
    load_fabric_suite as load_fabric_suite,
    suite_names as suite_names,
)
from pcielab.library.fabrics.load import (
    Fabric as Fabric,
    check_ends as check_ends,
    json_schema as json_schema,
    load as load,
    names as names,
)
from pcielab.library.fabrics.parts import Discipline as Discipline, Flow as Flow
