"""Random machines with random flows, and how their simulation compares with the closed form.

Machine *n* is the same on every computer. Its switches may be nested and may redirect, its NICs have lines, its
drives media, its sockets a processor of a known family or none.
"""

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from pcielab.expectations.as_fabric import MachineFabric, fabric_of_machine, hosts_of
from pcielab.expectations.described import machine_of
from pcielab.expectations.machine import Machine
from pcielab.fabric import shares, simulate
from pcielab.library.fabrics.flows import frame_of
from pcielab.library.fabrics.parts import Flow

PROCESSORS = ("EPYC 9575F", "EPYC 7542", "Xeon Gold 6248", "Xeon Platinum 8480+", "Threadripper PRO 7955WX", "")
LINKS = [f"gen{generation}x{lanes}" for generation in (3, 4, 5) for lanes in (4, 8, 16)]
LINES_GBPS = (25, 100, 200, 400)


@dataclass(frozen=True)
class Compared:
    """A random machine's flows, simulated and estimated.

    Attributes:
        number: The machine.
        over_estimate: The largest simulated rate as a share of the estimated one.
        over_edges: The largest load of an edge as a share of what it carries, without the one TLP that is under
            way when counting begins.
        worst: The flow of the first.
    """

    number: int
    over_estimate: float
    over_edges: float
    worst: str


def random_machine(number: int) -> Machine:
    """A machine by its number."""
    draw = Random(number)
    sockets = draw.choice((1, 2))
    content: dict[str, Any] = {"kind": "machine", "sockets": sockets, "switch": [], "device": []}
    if processor := draw.choice(PROCESSORS):
        content["processor"] = processor

    def attached(part: dict[str, Any]) -> dict[str, Any]:
        switches = content["switch"]
        if switches and draw.random() < 0.6:
            return part | {"below": draw.choice(switches)["name"]}
        return part | {"socket": draw.randrange(sockets), "stack": str(draw.randrange(4))}

    for at in range(draw.randint(0, 4)):
        switch = {"name": f"sw{at}", "link": draw.choice(LINKS), "redirects": draw.random() < 0.2}
        content["switch"].append(attached(switch))
    for kind, most in (("gpu", 6), ("nic", 3), ("nvme", 3)):
        for at in range(draw.randint(kind == "gpu", most)):
            device: dict[str, Any] = {"name": f"{kind}{at}", "kind": kind, "link": draw.choice(LINKS)}
            if kind == "nic":
                device["line_gbps"] = draw.choice(LINES_GBPS)
            if kind == "nvme":
                device |= {"read_gbytes_per_s": draw.uniform(2, 14), "write_gbytes_per_s": draw.uniform(1, 10)}
            content["device"].append(attached(device))
    return machine_of(content)


def random_flows(number: int, most: int = 6) -> tuple[Machine, MachineFabric]:
    """A machine by its number, with flows."""
    draw = Random(f"flows {number}")
    machine = random_machine(number)
    devices = [part.name for part in machine.devices()]
    ends = [*devices, *devices, *hosts_of(machine)]
    flows = []
    for at in range(draw.randint(1, most)):
        source, destination = draw.choice(devices), draw.choice(ends)
        if source == destination:
            destination = hosts_of(machine)[0]
        if draw.random() < 0.5:
            source, destination = destination, source
        flows.append(Flow(name=f"{at}: {source}->{destination}", source=source, destination=destination))
    return machine, fabric_of_machine(machine, Path(f"machine-{number}.toml"), frame_of(flows, "flows"))


def compared(number: int, duration_us: float = 40.0) -> Compared:
    """Simulate the flows of a machine, with credits of their own, and compare the rates."""
    _, found = random_flows(number)
    estimated = shares(found.fabric, found.flows).flows
    simulated = simulate(
        found.fabric, found.flows, discipline="per-flow", warm_up_us=30.0, duration_us=duration_us
    )
    over = simulated.flows["gbytes_per_s"].to_numpy() / estimated["gbytes_per_s"].to_numpy()
    tlp_bytes = found.fabric.handle.get("mps_bytes")
    loads, capacities = (simulated.edges[f"{what}_gbytes_per_s"].to_numpy() for what in ("load", "capacity"))
    # A TLP takes whole picoseconds.
    carried = 1e3 * tlp_bytes / np.rint(1e3 * tlp_bytes / capacities)
    edges = float(((loads - tlp_bytes / (1e3 * simulated.counted_us)) / carried).max())
    at = int(over.argmax())
    return Compared(number, float(over.max()), edges, str(simulated.flows["flow"][at]))
