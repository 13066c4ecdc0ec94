"""Short forms that a fabric file may have, and the tables that they stand for.

A node may name its kind by what it is (`gpu`, `switch`), and the node above it with the link between them
(`upper = "switch"`, `link = "gen4x16"`). Files with tables only pass unchanged.
"""

from collections.abc import Mapping
from typing import Any, get_args

from pcielab import _core
from pcielab.errors import wrong_value
from pcielab.library.alike import suggestion
from pcielab.library.fabrics.parts import FabricLink, NodeKind
from pcielab.library.fabrics.presets import DEFAULT_HOST, device_presets
from pcielab.wording import shown

SWITCH_NS = 110.0
"""Delay of a `switch` that gives none: a hop takes 105 ns in the rPCIeBench paper (section 4.2), 115 ns by the
vendor of a Gen5 switch (PEX89048)."""
DEVICE_KINDS = {"gpu": "gpu", "nic": "nic-100g", "nvme": "nvme-gen4", "fpga": "fpga-xdma"}
"""Kinds of nodes that are devices, each with its preset."""
_COMMON_KINDS = ("host", "switch", *DEVICE_KINDS)
NODE_KINDS = tuple(dict.fromkeys((*get_args(NodeKind), "switch", "root-port", *DEVICE_KINDS, *device_presets())))
"""Kinds of nodes in files."""
_OTHER_WORDS = {
    **dict.fromkeys(("root-complex", "root", "server", "cpu", "processor"), "host"),
    **dict.fromkeys(("endpoint", "card", "accelerator"), "device"),
    **dict.fromkeys(("ssd", "drive", "disk", "storage"), "nvme"),
    **dict.fromkeys(("pcie-switch", "plx", "bridge"), "switch"),
    **dict.fromkeys(("rp", "port"), "root-port"),
}
"""Kinds by words of the field that files do not have."""
_GENERATIONS, _LANES = (get_args(FabricLink.model_fields[key].annotation) for key in ("generation", "lanes"))
INSIDE_GBYTES_PER_S = 1000.0
"""Bandwidth between a root complex and its root port: more than any link, so that it limits nothing."""
_RATES = ("link", "generation", "lanes", "down_gbytes_per_s", "up_gbytes_per_s")


def node_with_tables(node: Mapping[str, Any]) -> dict[str, Any]:
    """A node with one of the kinds of the compiled half, and the preset that its kind stands for.

    Raises:
        InputError: The kind is unknown, or missing beside neither or both of `host` and `device`.
    """
    kind = node.get("kind")
    if kind is None:
        known = [key for key in ("host", "device") if node.get(key) is not None]
        if len(known) != 1:
            raise wrong_value("kind", "missing", f"give {', '.join(_COMMON_KINDS)} or another kind")
        return {**node, "kind": known[0]}
    if kind == "host":
        return {"host": DEFAULT_HOST, **node}
    if not isinstance(kind, str) or kind in get_args(NodeKind):
        return dict(node)
    if kind == "switch":
        return {"delay_ns": SWITCH_NS, **node, "kind": "internal-switch"}
    if kind == "root-port":
        return {**node, "kind": "internal-switch"}
    preset = DEVICE_KINDS.get(kind) or (kind if kind in NODE_KINDS else None)
    if preset is not None:
        return {"device": preset, **node, "kind": "device"}
    word = kind.casefold().replace("_", "-").replace(" ", "-")
    other = _OTHER_WORDS.get(word) or (word if word in NODE_KINDS else None)
    raise wrong_value("kind", shown(kind), f'give "{other}"' if other else suggestion(word, NODE_KINDS))


def link_with_tables(link: Mapping[str, Any]) -> dict[str, Any]:
    """A link with generation and lanes for its short form.

    Raises:
        InputError: The short form is not one, or stands beside the keys that it replaces.
    """
    text = link.get("link")
    if not isinstance(text, str):
        return dict(link)
    for key in ("generation", "lanes"):
        if key in link:
            raise wrong_value("link", shown(text), f"leave out {key}, which link gives, too")
    return {**link, **_generation_and_lanes(text, "link")}


def _generation_and_lanes(text: str, key: str) -> dict[str, int]:
    found = _core.read_link(text)
    if found is None:
        raise wrong_value(key, shown(text), 'give generation and lanes, for example "gen4x16"')
    generation, lanes = found
    if generation not in _GENERATIONS or lanes not in _LANES:
        right = f"generation 1 to {_GENERATIONS[-1]} and lanes {', '.join(map(str, _LANES))}"
        raise wrong_value(key, shown(text), f"give {right}")
    return {"generation": generation, "lanes": lanes}


def links_of_nodes(nodes: object) -> list[dict[str, Any]]:
    """The links that nodes give with `upper`; malformed nodes give none, since checking them names the error.

    Raises:
        InputError: A node gives `upper` without `link`, or a wrong `link`.
    """
    links = []
    for number, node in enumerate(nodes if isinstance(nodes, list) else []):
        if not isinstance(node, dict) or not isinstance(node.get("upper"), str) or "name" not in node:
            continue
        link, ends = node.get("link"), {"upper": node["upper"], "lower": node["name"]}
        if isinstance(link, str):
            links.append(ends | _generation_and_lanes(link, f"node.{number}.link"))
        elif link is None and node.get("kind") == "root-port":
            links.append(ends)
        elif link is None:
            remedy = 'give link, too: generation and lanes, for example "gen4x16"'
            raise wrong_value(f"node.{number}.upper", shown(node["upper"]), remedy)
    return links


def with_root_ports(nodes: object, links: list[Any]) -> list[Any]:
    """The links, in which one to a root port without a rate limits nothing: it is a part of the root complex.

    Raises:
        InputError: A root port has several links below.
    """
    tables = [node for node in nodes if isinstance(node, dict)] if isinstance(nodes, list) else []
    for port in (node.get("name") for node in tables if node.get("kind") == "root-port"):
        below = [str(link.get("lower")) for link in links if isinstance(link, dict) and link.get("upper") == port]
        if len(below) > 1:
            remedy = "give one link below a root port; only a switch has several"
            raise wrong_value(f"link below root port {port}", ", ".join(below), remedy)
        links = [_inside(link) if _leads_to(link, port) else link for link in links]
    return links


def _leads_to(link: Any, port: object) -> bool:
    return isinstance(link, dict) and link.get("lower") == port and not any(key in link for key in _RATES)


def _inside(link: dict[str, Any]) -> dict[str, Any]:
    return {**link, "down_gbytes_per_s": INSIDE_GBYTES_PER_S, "up_gbytes_per_s": INSIDE_GBYTES_PER_S}
