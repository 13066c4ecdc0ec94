"""The tree of a fabric as text: a line for each node that a flow passes, with the loads of the link above it."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from pcielab._core import INSIDE_GBYTES_PER_S
from pcielab.argument_types import refuses_wrong_types
from pcielab.fabric.estimation import Estimate
from pcielab.library.fabrics.load import Fabric
from pcielab.library.fabrics.routes import Routes
from pcielab.wording import printable

_FULL = 1 - 1e-6
_LEAST_GBYTES_PER_S = 0.005
_WITHOUT_LINES = "root-port"


@refuses_wrong_types
def drawn(fabric: Fabric, found: Estimate) -> str:
    """The tree with the loads of its links, GB/s of payload: downwards, then upwards, each of its capacity.

    `full` marks a direction that carries all that it can. Nodes that no flow passes are counted. Root ports with
    a link that carries flows are left out: their link has their slot in its name.
    """
    routes = Routes.of(fabric)
    loads = {str(row["edge"]): row for row in found.edges.to_dict("records")}
    used = _used(routes, found.flows)
    root = next(name for name in routes.nodes if name not in routes.uppers)
    lines, stack = [printable(root)], _branches(routes, root, "", used)
    while stack:
        name, before, corner, after = stack.pop()
        lines.append(f"{before}{corner} {_line(routes, name, loads)}")
        stack += _branches(routes, name, before + after, used)
    rest = len(routes.nodes) - len(used)
    return "\n".join([*lines, *([f"{rest} more nodes without a flow"] if rest else [])])


def _branches(routes: Routes, name: str, before: str, used: set[str]) -> list[tuple[str, str, str, str]]:
    """The nodes below a node, the last first, each with what stands before it, at it, and before those below."""
    below = [lower for lower in _below(routes, name) if lower in used]
    last = len(below) - 1
    return [
        (lower, before, *(("└──", "    ") if number == last else ("├──", "│   ")))
        for number, lower in reversed(list(enumerate(below)))
    ]


def _used(routes: Routes, flows: pd.DataFrame) -> set[str]:
    """The nodes that flows pass, and those above them."""
    ends = {*flows["source"], *flows["destination"]}
    return {above for name in ends for above in routes.above(name)}


def _below(routes: Routes, name: str) -> Iterator[str]:
    """The nodes below a node; instead of a root port with one link, what is below it."""
    for lower in routes.lowers[name]:
        lowers = routes.lowers[lower]
        if routes.part(lower) == _WITHOUT_LINES and len(lowers) == 1:
            yield lowers[0]
        else:
            yield lower


def _line(routes: Routes, name: str, loads: Mapping[str, Mapping[Hashable, Any]]) -> str:
    upper, link = routes.uppers[name], routes.links[name]
    both = [loads[edge] for edge in (f"{upper}->{name}", f"{name}->{upper}")]
    texts = [
        f"{arrow} {_load(one['load_gbytes_per_s'], one['capacity_gbytes_per_s'])}"
        for arrow, one in zip("↓↑", both, strict=True)
        if one["load_gbytes_per_s"] >= _LEAST_GBYTES_PER_S
    ]
    inside = both[0]["capacity_gbytes_per_s"] >= INSIDE_GBYTES_PER_S
    is_pcie = not inside and routes.part(name) in ("switch", "device")
    speed = f"  Gen{link['generation']} x{link['lanes']}" if is_pcie else ""
    return printable(f"{name}{speed}{'  ' if texts else ''}{'  '.join(texts)}")


def _load(load: float, capacity: float) -> str:
    if capacity >= INSIDE_GBYTES_PER_S:
        return f"{load:.1f}"
    return f"{load:.1f} of {capacity:.1f}{' full' if load >= capacity * _FULL else ''}"
