"""The tree for people and programs: every link with its capacity and the demand below it."""

from collections.abc import Iterator

from pcielab.doctor.loss import LARGE_BYTES, loss, use_of
from pcielab.doctor.real_links import not_judged
from pcielab.doctor.rules.link import rate_gbps
from pcielab.doctor.topology import edges
from pcielab.doctor.tree import Function, Link, Record, Tree
from pcielab.model.answers import Bound


class Branch(Record):
    """A function, with the link above it if it has one."""

    slot: str
    depth: int
    """Number of bridges above it."""
    title: str
    kind: str | None
    speed_gtps: float | None = None
    lanes: int | None = None
    """Negotiated lanes; 0 where nothing is attached."""
    read_gbps: float | None = None
    """Large reads, modelled: the wire with this device's MPS and MRRS."""
    read_bound: Bound | None = None
    write_gbps: float | None = None
    write_bound: Bound | None = None
    raw_gbps: float | None = None
    """Raw bit rate of the link in one direction, after line coding."""
    below_gbps: float | None = None
    """Sum of the raw rates of the device links below it."""
    edge: str | None = None
    """The link above by the name that `pcielab fabric from` gives it."""
    made_up: str | None = None
    """Why the link is not judged: inside a chip, or not a real one."""

    @property
    def is_port(self) -> bool:
        """Whether a link may lead down from it."""
        return self.kind in ("root-port", "downstream-port")


def branches(tree: Tree) -> list[Branch]:
    """Every function, in depth-first order."""
    names = edges(tree)
    roots = [function for function in tree.functions if tree.parent(function) is None]
    found = (branch for root in roots for branch in _walk(tree, root, 0))
    return [_with_edge(branch, names) for branch in found]


def _with_edge(branch: Branch, names: dict[str, str]) -> Branch:
    edge = None if branch.is_port else names.get(branch.slot)
    return branch if edge is None else branch.model_copy(update={"edge": edge})


def _walk(tree: Tree, function: Function, depth: int) -> Iterator[Branch]:
    yield _branch(tree, function, depth)
    for child in tree.children(function):
        if tree.parent(child) is function:
            yield from _walk(tree, child, depth + 1)


def _branch(tree: Tree, function: Function, depth: int) -> Branch:
    link = tree.link_of(function)
    plain = Branch(slot=function.slot, depth=depth, title=function.title, kind=function.kind)
    if link is None:
        nothing = function.is_port and function.link is not None and not function.link.lanes
        return plain.model_copy(update={"lanes": 0}) if nothing else plain
    end = function.link
    use = use_of(function, end) if end else None
    if end is None or use is None:
        return plain
    read, write = loss(use, use, "read", LARGE_BYTES), loss(use, use, "write", LARGE_BYTES)
    return plain.model_copy(
        update={
            "speed_gtps": end.speed_gtps,
            "lanes": end.lanes,
            "read_gbps": read.now_gbps,
            "read_bound": read.now_bound,
            "write_gbps": write.now_gbps,
            "write_bound": write.now_bound,
            "raw_gbps": rate_gbps(end),
            "below_gbps": _below(tree, link) or None,
            "made_up": not_judged(tree, link) if function.is_endpoint else None,
        }
    )


def _below(tree: Tree, link: Link) -> float:
    """Sum of the raw rates of the device links below a switch's upstream port."""
    total, ports = 0.0, list(tree.children(link.device))
    while ports:
        for child in tree.children(ports.pop()):
            if child.kind == "upstream-port":
                ports += tree.children(child)
            elif tree.link_of(child) is not None and child.slot.endswith(".0"):
                total += rate_gbps(child.link)
    return total
