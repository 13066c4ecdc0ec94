"""Read a machine from what shows it: a described machine, a fabric, lspci, NCCL's topology, `/sys`, a box."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, reduce
from pathlib import Path

from pcielab._core import SPEEDS_GTPS
from pcielab.doctor import Function, Position, Tree, merged, read_machine, topology
from pcielab.errors import found_in, refusal
from pcielab.expectations.described import is_described, machine_of
from pcielab.expectations.machine import Link, Machine, Part, PartKind, Peers, checked, link_of_capacity
from pcielab.expectations.processors import Family, family_of_name, family_of_tree
from pcielab.expectations.tables import box, box_names
from pcielab.fabric.own_links import own_links
from pcielab.fabric.paths import capacities_on
from pcielab.library import shipped
from pcielab.library.alike import suggestion
from pcielab.library.fabrics.load import Fabric, load, names as fabric_names
from pcielab.library.fabrics.routes import Routes
from pcielab.library.input_files import is_folder, is_there, read_text, read_toml

_NIC_LINES = "published/nic-lines.csv"
"""The rows of the doctor's table of hardware that state a NIC's line."""
_REDIRECTS = {"ReqRedir", "CmpltRedir"}
_VENDORS = {0x10DE: "nvidia", 0x1002: "amd", 0x8086: "intel"}
_RESTING_GTPS = 2.5


def read(sources: str | Path | Sequence[str | Path], *, processor: str | None = None) -> Machine:
    """The machine that one source, or several of one machine, show.

    Args:
        sources: A file or folder, the name of a shipped fabric or box, or several sources of one machine.
        processor: Its processor, where the source does not say; replaces what it says.

    Raises:
        InputError: A source is none of these, or the processor is unknown.
    """
    given = [sources] if isinstance(sources, str | Path) else list(sources)
    machine = _machine(given)
    if not machine.devices():
        raise refusal(
            "missing",
            f"{machine.name}: shows no device behind a link: give the output of `sudo lspci -vvv`, of all devices",
        )
    if processor is None:
        return machine
    family = family_of_name(processor)
    if family is None:
        raise refusal(
            "not-found",
            f"--processor {processor[:80]}: no known family: give its name as lscpu prints it, as EPYC 9575F",
        )
    return replace(machine, processor=processor, family=family.name)


def _machine(sources: Sequence[str | Path]) -> Machine:
    if not sources:
        raise refusal("missing", "no source: give a machine's file")
    first = str(sources[0])
    path = Path(first)
    if len(sources) == 1 and not is_there(path) and not is_folder(path):
        return _shipped(first)
    if len(sources) == 1 and path.suffix == ".toml" and is_there(path):
        content = read_toml(path)
        if is_described(content):
            with found_in(path):
                return machine_of(content)
        return machine_of_fabric(load(first))
    tree = reduce(merged, (read_machine(Path(source)) for source in sources))
    return machine_of_tree(tree, path.stem)


def _shipped(name: str) -> Machine:
    if name in box_names():
        return box(name)
    if name in fabric_names():
        return machine_of_fabric(load(name))
    known = [*box_names(), *fabric_names()]
    raise refusal("not-found", f"{name}: no file, published box or fabric: {suggestion(name, known)}")


def machine_of_fabric(fabric: Fabric) -> Machine:
    """The machine of a fabric: what `pcielab fabric from` wrote, or a fabric whose host is its root.

    Capacities that its file gives to links count as what the links carry.
    """
    routes = Routes.of(fabric)
    carried = capacities_on(routes)
    sockets = [name for name in routes.nodes if routes.part(name) == "socket"]
    parts: list[Part] = []
    for name, node in routes.nodes.items():
        part = routes.part(name)
        if part not in ("device", "switch") or name not in routes.uppers:
            continue
        upper = routes.uppers[name]
        above = routes.above(name)[1:]
        kind: PartKind = "switch" if part == "switch" else routes.kind(name) or "device"
        ports = [lower for lower in routes.lowers[name] if (one := routes.machine(lower)) and one.redirects]
        parts.append(
            Part(
                name=name,
                kind=kind,
                link=link_of_capacity(carried[f"{upper}->{name}"], carried[f"{name}->{upper}"]),
                upper=upper if routes.part(upper) == "switch" and upper in routes.uppers else None,
                socket=next((sockets.index(one) for one in above if one in sockets), None),
                stack=next((one for one in above if routes.part(one) == "stack"), None),
                redirects=bool(ports) if part == "switch" else None,
                line_gbps=_line_of_preset(node.device),
            )
        )
    return Machine(
        name=fabric.name,
        title=fabric.title,
        processor="",
        family=None,
        sockets=len(sockets) or None,
        parts=checked(parts),
        peers=tuple(_peers_of(fabric)),
        notes=("the fabric's file names no processor: give --processor",),
    )


def _peers_of(fabric: Fabric) -> Iterator[Peers]:
    """The links beside PCIe of a fabric's file."""
    for one in fabric.handle.get("peers"):
        yield Peers(one["kind"], tuple(one["devices"]), one["gbytes_per_s"], one["pair_gbytes_per_s"])


def _line_of_preset(preset: str | None) -> float | None:
    """The line of a NIC's preset, Gb/s."""
    number = (preset or "").removeprefix("nic-").removesuffix("g")
    return float(number) if number.isdigit() else None


def machine_of_tree(tree: Tree, name: str) -> Machine:
    """The machine of what a source showed."""
    found = topology(tree)
    positions = {position.name: position for position in found.positions}
    sockets = [position.name for position in found.positions if position.part == "socket"]
    redirecting = {
        position.upper
        for position in found.positions
        if position.port is not None and _REDIRECTS & set(position.port.acs_enabled or ())
    }
    parts = []
    notes = [*(f"assumed: {text}" for text in found.assumed), *(f"left out: {text}" for text in found.left_out)]
    for position in found.positions:
        if position.part not in ("device", "switch"):
            continue
        above = list(_above(position, positions))
        upper = above[0] if above else None
        function = position.function
        is_low = _is_at_rest(position)
        if is_low:
            notes.append(f"assumed: {position.name} lowers its speed at rest, and reaches what both ends support")
        parts.append(
            Part(
                name=position.name,
                kind=_kind(position),
                link=_link(position, at_most=is_low),
                upper=upper.name if upper is not None and upper.part == "switch" else None,
                socket=next((sockets.index(one.name) for one in above if one.name in sockets), None),
                stack=next((one.name.removeprefix("stack ") for one in above if one.part == "stack"), None),
                redirects=position.name in redirecting if position.part == "switch" else None,
                line_gbps=_line_of(position) if position.kind == "nic" else None,
                vendor=_VENDORS.get(function.vendor_id or 0) if function and _kind(position) == "gpu" else None,
                title=function.title if function else "",
            )
        )
    by_name = checked(parts)
    family: Family | None = family_of_tree(tree)
    if family is None:
        notes.append("no root port names the processor: give --processor")
    peers = tuple(Peers(*group) for group in own_links(tree, found.positions))
    notes += [f"{one.kind} links of {', '.join(one.devices)}: no source shows their rate" for one in peers]
    return Machine(
        name=name,
        title=f"{name}, as read from {tree.source}",
        processor=family.title if family else "",
        family=family.name if family else None,
        sockets=len(sockets) or None,
        parts=by_name,
        peers=peers,
        notes=tuple(notes),
    )


@cache
def _lines_gbps() -> dict[tuple[int, int], float]:
    """The line of a port of each known NIC, by vendor and device."""
    rows = csv.DictReader(read_text(shipped.directory("profiles") / _NIC_LINES).splitlines())
    return {(int(row["vendor"], 16), int(row["device"], 16)): float(row["line_gbps"]) for row in rows}


def _line_of(position: Position) -> float | None:
    """The line of a NIC, all its ports together; each port is a function. None: the device is not known."""
    ids = [(one.vendor_id or 0, one.device_id or 0) for one in position.functions if not one.is_virtual_function]
    lines = [line for one in ids if (line := _lines_gbps().get(one)) is not None]
    return sum(lines) or None


def _above(position: Position, positions: dict[str, Position]) -> Iterator[Position]:
    while position.upper is not None:
        position = positions[position.upper]
        yield position


def _kind(position: Position) -> PartKind:
    """The kind of a part; a GPU without a display's class is a GPU."""
    if position.part == "switch":
        return "switch"
    one = position.function
    is_gpu = one is not None and one.vendor_id in (0x10DE, 0x1002) and position.kind == "accelerator"
    return "gpu" if is_gpu else position.kind or "device"


def _is_at_rest(position: Position) -> bool:
    """Whether a GPU shows the speed to which drivers lower links at rest."""
    end = position.end
    return position.kind == "gpu" and end is not None and end.speed_gtps == _RESTING_GTPS


def _link(position: Position, *, at_most: bool) -> Link | None:
    end = position.end
    if end is None or end.speed_gtps is None or not end.lanes:
        return None
    speed = end.speed_gtps
    if at_most:
        ends: list[Function | None] = [position.port, position.function]
        known = [one.link.max_speed_gtps for one in ends if one and one.link and one.link.max_speed_gtps]
        speed = min(known, default=speed)
    sizes = [one.control.mps_bytes for one in (position.port, *position.functions) if one and one.control]
    mps_bytes = min((size for size in sizes if size), default=None)
    return Link(SPEEDS_GTPS.index(speed) + 1, end.lanes, mps_bytes)
