"""Fabrics for pages: the tree, flows with their bandwidths, and their mutual influence."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, get_args

from pcielab import fabric
from pcielab.errors import InputError
from pcielab.library import shipped
from pcielab.library.fabrics.flows import flows_of, frame_of
from pcielab.library.fabrics.parts import Flow
from pcielab.library.validation import checked, suggestion
from pcielab.report.fabric_tree import tree_positions
from pcielab.wording import shown

FLOWS_MOST = 200
NODES_MOST = 400


def listed() -> list[dict[str, Any]]:
    """The shipped fabrics: name, title, and the sets of flows in each file."""
    return [
        {"name": name, "title": shipped.title(path), "sets": list(_loaded(name).file.flows.sets)}
        for name, path in shipped.profile_files("fabric").items()
        if len(_loaded(name).file.node) <= NODES_MOST
    ]


def estimated(asked: Any) -> dict[str, Any]:
    """Estimate flows on a fabric: its tree, the bandwidth of flows, the load of edges, and the influences.

    Args:
        asked: `name` of a fabric, `method`, and `flows` (tables with the keys of a flow) or `set` (name of a set).

    Raises:
        InputError: One of these is wrong.
    """
    if not isinstance(asked, Mapping):
        raise InputError("give an object")
    loaded = _loaded(str(asked.get("name")))
    method = asked.get("method", "max-min")
    if method not in get_args(fabric.Method):
        raise InputError(f"method {shown(method)}: {suggestion(str(method), get_args(fabric.Method))}")
    flows = _flows(loaded, asked)
    if not flows:
        return {**_tree(loaded), "flows": [], "edges": [], "influences": []}
    frame = frame_of(flows, "flows")
    fabric.check_ends(loaded, frame, "flows")
    found = fabric.estimate(loaded, frame, method)
    named = [flow.model_dump(mode="json") for flow in flows_of(frame, "flows")]
    shares = found.flows.astype(object).where(found.flows.notna(), None).to_dict("records")
    return {
        **_tree(loaded),
        "flows": [
            {**flow, "gbytes_per_s": share["gbytes_per_s"], "limit": share["limit"]}
            for flow, share in zip(named, shares, strict=True)
        ],
        "edges": found.edges.to_dict("records"),
        "influences": fabric.influences(loaded, frame, method).to_dict("records") if len(flows) <= 40 else [],
    }


def _flows(loaded: fabric.Fabric, asked: Mapping[str, Any]) -> list[Flow]:
    given = asked.get("flows")
    if given is None:
        known = loaded.file.flows.sets
        name = asked.get("set") or loaded.file.flows.default or next(iter(known), None)
        return list(known.get(str(name), []))[:FLOWS_MOST]
    if not isinstance(given, list) or len(given) > FLOWS_MOST:
        raise InputError(f"flows: give a list of {FLOWS_MOST} at most")
    return [checked(Flow, flow, "flows") for flow in given]


def _tree(loaded: fabric.Fabric) -> dict[str, Any]:
    at = tree_positions(loaded)
    nodes = [
        {"node": node.name, "kind": node.kind, "x": at[node.name][0], "level": at[node.name][1]}
        for node in loaded.file.node
    ]
    links = [
        {"upper": link.upper, "lower": link.lower, "text": f"Gen{link.generation} x{link.lanes}"}
        for link in loaded.file.link
    ]
    return {"name": loaded.name, "title": loaded.title, "nodes": nodes, "links": links}


@lru_cache(maxsize=32)
def _loaded(name: str) -> fabric.Fabric:
    if name not in fabric.names():
        raise InputError(f"fabric {shown(name)}: {suggestion(name, fabric.names())}")
    return fabric.load(name)
