"""Fabrics for pages: the tree, flows with their bandwidths, and their mutual influence."""

from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from pcielab import fabric
from pcielab.errors import InputError
from pcielab.fabric.paths import described
from pcielab.kinds.flows.tree import tree_positions
from pcielab.library.alike import suggestion
from pcielab.library.fabrics.flows import flows_of, frame_of
from pcielab.library.fabrics.load import of_content
from pcielab.library.fabrics.parts import Flow
from pcielab.library.validation import checked
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

    def drop(self, label: str, content: dict[str, Any]) -> str:
        """Take the content of a file that was dropped on a page, instead of an earlier one of its name.

        Returns:
            The name of the fabric.

        Raises:
            InputError: It is no fabric, has too many nodes to draw, or another fabric has its name.
        """
        loaded = of_content(content, Path(label))
        nodes = len(loaded.file.node)
        if nodes > NODES_MOST:
            raise InputError(
                f"{label}: has {nodes} nodes: give {NODES_MOST} at most, or use pcielab fabric estimate"
            )
        if loaded.name not in self._dropped and loaded.name in self.names:
            raise InputError(f"{label}: name is {loaded.name}: a fabric of the server has this name: give another")
        self._own[loaded.name] = loaded
        self._dropped.add(loaded.name)
        return loaded.name

    def listed(self) -> list[dict[str, Any]]:
        """Name and title of each, and the sets of flows in its file."""
        return [
            {"name": name, "title": loaded.title, "sets": list(loaded.file.flows.sets)}
            for name in self.names
            for loaded in [self._loaded(name)]
            if len(loaded.file.node) <= NODES_MOST
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
            raise InputError("give an object")
        loaded = self._loaded(str(asked.get("name")))
        method = asked.get("method", "max-min")
        if method not in get_args(fabric.Method):
            raise InputError(f"method {shown(method)}: {suggestion(str(method), get_args(fabric.Method))}")
        flows = _flows(loaded, asked)
        if not flows:
            return {**_tree(loaded), "flows": [], "edges": [], "influences": []}
        frame = frame_of(flows, "flows")
        fabric.check_ends(loaded, frame, "flows")
        found = fabric.shares(loaded, frame, method)
        named = [flow.model_dump(mode="json") for flow in flows_of(frame, "flows")]
        shares = found.flows.astype(object).where(found.flows.notna(), None).to_dict("records")
        return {
            **_tree(loaded),
            "flows": [
                {**flow, "gbytes_per_s": share["gbytes_per_s"], "limit": share["limit"], "fits": share["fits"]}
                for flow, share in zip(named, shares, strict=True)
            ],
            "edges": found.edges.to_dict("records"),
            "influences": _influences(loaded, frame, method) if len(flows) <= _INFLUENCES_MOST else [],
        }

    def path(self, asked: Any) -> dict[str, Any]:
        """The path between two nodes: its nodes, and what is on it in words.

        Args:
            asked: `name` of a fabric, `source`, `destination`.

        Raises:
            InputError: One of these is wrong.
        """
        if not isinstance(asked, Mapping):
            raise InputError("give an object")
        loaded = self._loaded(str(asked.get("name")))
        found = fabric.path(loaded, str(asked.get("source")), str(asked.get("destination")))
        return {"nodes": list(found.nodes), "text": described(found), "edges": found.edges.to_dict("records")}

    def _loaded(self, name: str) -> fabric.Fabric:
        if name in self._own:
            return self._own[name]
        if name not in fabric.names():
            raise InputError(f"fabric {shown(name)}: {suggestion(name, self.names)}")
        return _shipped(name)


def _influences(loaded: fabric.Fabric, flows: pd.DataFrame, method: fabric.Method) -> list[dict[Hashable, Any]]:
    return fabric.influences(loaded, fabric.with_limits(loaded, flows), method).to_dict("records")


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


@cache
def _shipped(name: str) -> fabric.Fabric:
    return fabric.load(name)
