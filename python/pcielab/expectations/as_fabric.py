"""A machine as a fabric, for `pcielab fabric`: the same edges that `pcielab expect` names, with what they carry.

PCIe links are the links of the tree. What else flows share, the root complex, memory and copy engines, are limits
of the fabric; links beside PCIe stay edges of their own. All carry the middle of what comparable published figures
reach. An edge that nobody measured limits nothing here; notes name it.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from pcielab._core import INSIDE_GBYTES_PER_S
from pcielab.errors import refusal
from pcielab.expectations.answers import Share, shares_of
from pcielab.expectations.described import is_described, read_described
from pcielab.expectations.edges import Edge, Flow, flows_together
from pcielab.expectations.machine import Machine, Part
from pcielab.expectations.questions import Question, QuestionKind
from pcielab.expectations.tables import box, box_names, shipped_ranges
from pcielab.fabric.estimation import Estimate
from pcielab.library.alike import suggestion
from pcielab.library.fabrics.load import Fabric, of_text
from pcielab.library.input_files import is_there, read_toml
from pcielab.wording import named

Ends = tuple[str, str]
_ROOT = "root complex"
_ON_LINKS = ("link", "uplink", "line", "media")
"""Edges that are a link of the tree, or stand on one: the least of them is what the link carries."""
_READERS = ("nic", "nvme", "storage")
"""Devices that read what goes to them, as flows of fabrics have it; to others, the source writes."""


@dataclass(frozen=True)
class MachineFabric:
    """A machine as a fabric, and its flows.

    Attributes:
        fabric: The fabric.
        flows: The flows, as `pcielab.fabric` takes them.
        shares: What each flow gets, its bound and its limit; as `pcielab expect` answers.
        labels: The edges of the fabric by their names there, as `pcielab expect` names them.
        notes: Edges of the flows that nobody measured.
    """

    fabric: Fabric
    flows: pd.DataFrame
    shares: tuple[Share, ...]
    labels: Mapping[str, str]
    notes: tuple[str, ...]

    def with_(self, changes: Mapping[str, object]) -> "MachineFabric":
        """The same with changes of the fabric by dotted key."""
        return replace(self, fabric=self.fabric.with_(changes))


def machine_named(name_or_path: str) -> tuple[Machine, Path] | None:
    """A published box of that name, or the machine in that file, with its path; None of anything else."""
    path = Path(name_or_path)
    if path.suffix == ".toml" and is_there(path):
        return (read_described(path), path) if is_described(read_toml(path)) else None
    return (box(name_or_path), Path(f"{name_or_path}.toml")) if name_or_path in box_names() else None


def labelled(found: Estimate, machine: MachineFabric) -> Estimate:
    """The estimate of a machine's flows with their bounds, and edges as `pcielab expect` names them.

    Of flows that declare no rate, the limit is that of its answer: an edge that nobody measured comes first.
    """
    declares = machine.flows["standalone_gbytes_per_s"].notna().any()
    limits = [
        None if limit is None else machine.labels.get(limit, limit) if declares else share.limit.label
        for limit, share in zip(found.flows["limit"].to_list(), machine.shares, strict=True)
    ]
    bounds = [share.bound if math.isfinite(share.bound) else None for share in machine.shares]
    flows = found.flows.assign(
        bound_gbytes_per_s=pd.Series(bounds, dtype="float64"), limit=pd.Series(limits, dtype=object)
    )
    edges = found.edges.assign(edge=[machine.labels.get(edge, edge) for edge in found.edges["edge"]])
    return replace(found, flows=flows, edges=edges)


def hosts_of(machine: Machine) -> list[str]:
    """The names of the memories of its sockets in flows: `host`, or `host0` and so on."""
    sockets = sorted({part.socket for part in machine.parts.values() if part.socket is not None})
    count = max([machine.sockets or 1, *(socket + 1 for socket in sockets)])
    return ["host"] if count == 1 else [f"host{number}" for number in range(count)]


def fabric_of_machine(machine: Machine, path: Path, flows: pd.DataFrame | None = None) -> MachineFabric:
    """The fabric of a machine as some flows use it.

    What edges carry depends on the flows: several at once reach less of a link than one alone.

    Args:
        machine: The machine.
        path: Its file, for messages.
        flows: The flows, from and to devices or hosts of `hosts_of`; None: none.

    Raises:
        InputError: An end is unknown, or a fact that a flow needs.
    """
    hosts = hosts_of(machine)
    flows = pd.DataFrame(columns=["source", "destination"]) if flows is None else flows
    ends = list(zip(flows["source"], flows["destination"], strict=True))
    moved = _moved(machine, ends, hosts)
    shares = shares_of(moved, shipped_ranges()) if moved else []
    rates = {edge: rate for share in shares for edge, rate in share.rates.items()}
    tree = _Tree(machine, hosts, rates)
    for both, flow in zip(ends, moved, strict=True):
        tree.add(both, flow)
    unknown = dict.fromkeys(edge.label for share in shares for edge in share.unknown)
    notes = tuple(f"unknown: {label}: nobody published what it carries" for label in unknown)
    return MachineFabric(of_text(tree.text(), path), flows, tuple(shares), tree.labels, notes)


def _moved(machine: Machine, flows: Sequence[Ends], hosts: Sequence[str]) -> list[Flow]:
    """The flows with what they pass; two opposite ones share what their devices do both ways at once."""
    known = [*hosts, *(part.name for part in machine.devices())]
    for end in (end for ends in flows for end in ends):
        if end not in known:
            raise refusal("not-found", f"{named(end)}: no device of {machine.name}: {suggestion(end, known)}")
    questions: list[Question] = []
    order: list[list[int]] = []
    waiting: dict[Ends, list[int]] = {}
    for number, (source, destination) in enumerate(flows):
        if source == destination or (source in hosts and destination in hosts):
            raise refusal("conflict", f"{source}->{destination}: give a device and another end")
        opposite = waiting.get((destination, source))
        if opposite:
            first = opposite.pop()
            questions[first] = _question(machine, flows[order[first][0]], hosts, both=True)
            order[first].append(number)
            continue
        waiting.setdefault((source, destination), []).append(len(questions))
        questions.append(_question(machine, (source, destination), hosts, both=False))
        order.append([number])
    made = flows_together(questions, machine)
    found: dict[int, Flow] = {}
    rest = iter(made)
    for question, numbers in zip(questions, order, strict=True):
        ways = [next(rest) for _ in numbers]
        # `both` gives the way down first.
        if question.kind == "both" and flows[numbers[0]][0] not in hosts:
            ways.reverse()
        found |= dict(zip(numbers, ways, strict=True))
    return [found[number] for number in range(len(flows))]


def _question(machine: Machine, ends: Ends, hosts: Sequence[str], *, both: bool) -> Question:
    source, destination = ends
    if source not in hosts and destination not in hosts:
        reads = machine.part(destination).kind in _READERS
        return Question("p2p-both" if both else "p2p-read" if reads else "p2p-write", pairs=(ends,))
    device, host = (destination, source) if source in hosts else (source, destination)
    memory = hosts.index(host) if len(hosts) > 1 else None
    kind: QuestionKind = "both" if both else "h2d" if source in hosts else "d2h"
    return Question(kind, devices=(device,), memory=memory)


class _Tree:
    """Writes the file of the fabric."""

    def __init__(self, machine: Machine, hosts: Sequence[str], rates: Mapping[Edge, float]) -> None:
        self.machine, self.hosts, self.rates = machine, hosts, rates
        self.labels: dict[str, str] = {}
        self._links: dict[str, dict[str, float]] = {}
        self._limits: dict[str, tuple[float, dict[Ends, None]]] = {}
        self._peers: dict[str, float] = {}

    def add(self, ends: Ends, flow: Flow) -> None:
        """Give the links and limits that a flow passes what they carry."""
        for edge in flow.edges:
            rate = self.rates[edge]
            if edge.kind in _ON_LINKS:
                self._on_link(edge, rate)
            elif edge.kind == "peer":
                if math.isfinite(rate):
                    self._peers[edge.key] = rate
                self.labels[edge.label] = edge.label
            elif math.isfinite(rate):
                self.labels[edge.label] = edge.label
                self._limits.setdefault(edge.label, (rate, {}))[1][ends] = None

    def _on_link(self, edge: Edge, rate: float) -> None:
        name, what, *rest = edge.key.split(" ")
        data = rest[0] if rest else what
        way = "down" if data in ("down", "out", "write") else "up"
        link = self._links.setdefault(name, {})
        if rate < link.get(way, math.inf):
            upper = self._upper(self.machine.part(name))
            link[way] = rate
            self.labels[f"{upper}->{name}" if way == "down" else f"{name}->{upper}"] = edge.label

    def _upper(self, part: Part) -> str:
        return part.upper or (_ROOT if part.socket is None or len(self.hosts) == 1 else f"socket{part.socket}")

    def text(self) -> str:
        """The file."""
        machine = self.machine
        source = f"what comparable published figures reach, for the flows asked of {machine.name}"
        lines = [
            f"name = {_quoted(machine.name)}",
            f"title = {_quoted(machine.title or machine.name)}",
            f"provenance = {{ source = {_quoted(source)} }}",
            *_node(_ROOT, "internal-switch"),
        ]
        sockets = [f"socket{number}" for number in range(len(self.hosts))] if len(self.hosts) > 1 else []
        for socket in sockets:
            lines += [*_node(socket, "internal-switch"), *_link(_ROOT, socket)]
        for number, host in enumerate(self.hosts):
            lines += _node(host, "host", *([f"host = {_quoted(machine.host)}"] if machine.host else []))
            lines += _link(sockets[number] if sockets else _ROOT, host)
        for part in machine.parts.values():
            lines += self._part(part)
        for name, (rate, ways) in self._limits.items():
            listed = ", ".join(f"{{ up = {_quoted(up)}, down = {_quoted(down)} }}" for up, down in ways)
            lines += ["[[limit]]", f"name = {_quoted(name)}", f"gbytes_per_s = {rate!r}", f"ways = [{listed}]"]
        return "\n".join([*lines, *self._groups(), ""])

    def _part(self, part: Part) -> Iterator[str]:
        if part.kind == "switch":
            keys = [f"turns_at = {_quoted(self._turn(part))}"] if part.redirects else []
            yield from _node(part.name, "switch", *keys)
        else:
            yield from _node(part.name, "device")
        link = part.link
        given = self._links.get(part.name, {})
        shape = (link.generation, link.lanes) if link is not None else (5, 16)
        rates = {
            "down": link.payload_gbytes_per_s("down", reads=True) if link else INSIDE_GBYTES_PER_S,
            "up": link.payload_gbytes_per_s("up", reads=False) if link else INSIDE_GBYTES_PER_S,
        } | given
        yield from _link(self._upper(part), part.name, rates["down"], rates["up"], shape)

    def _turn(self, part: Part) -> str:
        """The node at which flows turn that ACS redirects: the root port's."""
        return self._upper(self.machine.top(part.name))

    def _groups(self) -> Iterator[str]:
        for peers in self.machine.peers:
            devices = [name for name in peers.devices if name in self.machine.parts]
            all_rates = [rate for one in devices if (rate := self._peers.get(f"peer {one}>")) is not None]
            keys = (f"peer {one}>{other}" for one in devices for other in devices)
            pair_rates = [rate for key in keys if (rate := self._peers.get(key)) is not None]
            yield "[[peers]]"
            yield f"kind = {_quoted(peers.kind)}"
            yield f"devices = {json.dumps(devices)}"
            if peers.gbytes_per_s is not None:
                yield f"gbytes_per_s = {min(all_rates, default=peers.gbytes_per_s)!r}"
            if peers.pair_gbytes_per_s is not None:
                yield f"pair_gbytes_per_s = {min(pair_rates, default=peers.pair_gbytes_per_s)!r}"


def _node(name: str, kind: str, *keys: str) -> list[str]:
    return ["[[node]]", f"name = {_quoted(name)}", f"kind = {_quoted(kind)}", *keys]


def _link(
    upper: str,
    lower: str,
    down: float = INSIDE_GBYTES_PER_S,
    up: float = INSIDE_GBYTES_PER_S,
    shape: tuple[int, int] = (5, 16),
) -> list[str]:
    rates = [f"down_gbytes_per_s = {float(down)!r}", f"up_gbytes_per_s = {float(up)!r}"]
    return [
        "[[link]]",
        f"upper = {_quoted(upper)}",
        f"lower = {_quoted(lower)}",
        f'link = "gen{shape[0]}x{shape[1]}"',
        *rates,
    ]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
