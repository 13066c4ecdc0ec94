"""Fabrics for pages: the tree, flows with their bandwidths, and their mutual influence."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from pcielab import fabric
from pcielab.errors import refusal
from pcielab.fabric.paths import described
from pcielab.kinds.flows.tree import tree_positions
from pcielab.library.alike import suggestion
from pcielab.library.fabrics.flows import checked_columns, flows_in, frame_in
from pcielab.library.fabrics.load import of_text
from pcielab.wording import shown

FLOWS_MOST = 200
NODES_MOST = 400
_INFLUENCES_MOST = 40
"""Most flows whose influence on each other is estimated."""


class Fabrics:
    """The fabrics of a server: shipped ones, files given to it, and files dropped on its pages."""

    def __init__(self, files: Iterable[str] = ()) -> None:
        self._own = {loaded.name: loaded for loaded in map(fabric.load, files)}
        self._dropped: set[str] = set()

    @property
    def names(self) -> list[str]:
        """Their names; own ones come first."""
        return list(dict.fromkeys([*reversed(self._own), *fabric.names()]))

    def drop(self, label: str, text: str) -> str:
        """Take the text of a file that was dropped on a page, instead of an earlier one of its name.

        Returns:
            The name of the fabric.

        Raises:
            InputError: It is no fabric, has too many nodes to draw, or another fabric has its name.
        """
        loaded = of_text(text, Path(label))
        nodes = len(loaded.nodes)
        if nodes > NODES_MOST:
            raise refusal(
                "too-large",
                f"{label}: has {nodes} nodes: give {NODES_MOST} at most, or use pcielab fabric estimate",
            )
        if loaded.name not in self._dropped and loaded.name in self.names:
            raise refusal(
                "exists", f"{label}: name is {loaded.name}: a fabric of the server has this name: give another"
            )
        self._own[loaded.name] = loaded
        self._dropped.add(loaded.name)
        return loaded.name

    def listed(self) -> list[dict[str, Any]]:
        """Name and title of each, and the sets of flows in its file."""
        return [
            {"name": name, "title": loaded.title, "sets": loaded.flow_sets}
            for name in self.names
            for loaded in [self._loaded(name)]
            if len(loaded.nodes) <= NODES_MOST
        ]

    def estimated(self, asked: Any) -> dict[str, Any]:
        """Estimate flows on a fabric: its tree, the bandwidth of flows, the load of edges, and the influences.

        Args:
            asked: `name` of a fabric, `method`, and `flows` (tables with the keys of a flow) or `set` (name of a
                set).

        Raises:
            InputError: One of these is wrong.
        """
        if not isinstance(asked, Mapping):
            raise refusal("wrong-type", "give an object")
        loaded = self._loaded(str(asked.get("name")))
        method = asked.get("method", "max-min")
        if method not in get_args(fabric.Method):
            raise refusal(
                "not-found", f"method {shown(method)}: {suggestion(str(method), get_args(fabric.Method))}"
            )
        columns = _columns(loaded, asked)
        if not columns:
            return {**_tree(loaded), "flows": [], "edges": [], "influences": []}
        loaded.handle.check_ends(columns, "flows")
        frame = frame_in(columns)
        found = fabric.shares(loaded, frame, method)
        named = [asdict(flow) for flow in flows_in(columns)]
        shares = found.flows.astype(object).where(found.flows.notna(), None).to_dict("records")
        return {
            **_tree(loaded),
            "flows": [
                {**flow, "gbytes_per_s": share["gbytes_per_s"], "limit": share["limit"], "fits": share["fits"]}
                for flow, share in zip(named, shares, strict=True)
            ],
            "edges": found.edges.to_dict("records"),
            "influences": _influences(loaded, frame, method) if len(named) <= _INFLUENCES_MOST else [],
        }

    def path(self, asked: Any) -> dict[str, Any]:
        """The path between two nodes: its nodes, and what is on it in words.

        Args:
            asked: `name` of a fabric, `source`, `destination`.

        Raises:
            InputError: One of these is wrong.
        """
        if not isinstance(asked, Mapping):
            raise refusal("wrong-type", "give an object")
        loaded = self._loaded(str(asked.get("name")))
        found = fabric.path(loaded, str(asked.get("source")), str(asked.get("destination")))
        return {"nodes": list(found.nodes), "text": described(found), "edges": found.edges.to_dict("records")}

    def _loaded(self, name: str) -> fabric.Fabric:
        if name in self._own:
            return self._own[name]
        if name not in fabric.names():
            raise refusal("not-found", f"fabric {shown(name)}: {suggestion(name, self.names)}")
        return _shipped(name)


def _influences(loaded: fabric.Fabric, flows: pd.DataFrame, method: fabric.Method) -> list[dict[Hashable, Any]]:
    return fabric.influences(loaded, fabric.with_limits(loaded, flows), method).to_dict("records")


def _columns(loaded: fabric.Fabric, asked: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The columns of the flows that are asked for; none without flows."""
    given = asked.get("flows")
    if given is None:
        name = str(asked.get("set") or loaded.handle.default_set() or next(iter(loaded.flow_sets), None))
        found = loaded.handle.flows(name, "flows") if name in loaded.flow_sets else {}
        return {key: cells[:FLOWS_MOST] for key, cells in found.items()}
    if not isinstance(given, list) or len(given) > FLOWS_MOST:
        raise refusal("too-large", f"flows: give a list of {FLOWS_MOST} at most")
    for number, flow in enumerate(given, start=1):
        if not isinstance(flow, dict):
            raise refusal("wrong-type", f"flows: flow {number}: is {shown(flow)}: give a table")
    keys = dict.fromkeys(key for flow in given for key in flow)
    return checked_columns({key: [flow.get(key) for flow in given] for key in keys}, "flows") if given else {}


def _tree(loaded: fabric.Fabric) -> dict[str, Any]:
    at = tree_positions(loaded)
    nodes = [
        {"node": node.name, "kind": node.kind, "x": at[node.name][0], "level": at[node.name][1]}
        for node in loaded.nodes
    ]
    links = [
        {"upper": link["upper"], "lower": link["lower"], "text": f"Gen{link['generation']} x{link['lanes']}"}
        for link in loaded.handle.get("link")
    ]
    return {"name": loaded.name, "title": loaded.title, "nodes": nodes, "links": links}


@cache
def _shipped(name: str) -> fabric.Fabric:
    return fabric.load(name)
