"""The questions that `expect` asks of a machine by itself: one for each class of devices and of pairs.

Devices of one kind, link and position are a class, and one of them stands for all. So do pairs with the same kinds
of ends and the same between them.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, permutations

from pcielab.expectations.edges import ring_order
from pcielab.expectations.machine import Machine, Part
from pcielab.expectations.questions import QuestionKind

_MOST_RING = 8
_MOST_PAIRED = 16
"""Devices of a kind among which pairs are told apart."""


@dataclass(frozen=True)
class Asked:
    """A question that a machine raises.

    Attributes:
        text: The question.
        of: The devices or pairs that it stands for, in words.
        kind: Its kind.
    """

    text: str
    of: str
    kind: QuestionKind


def questions_of(machine: Machine) -> list[Asked]:
    """The questions that a machine raises."""
    return list(dict.fromkeys((*_single(machine), *_together(machine), *_pairs(machine), *_groups(machine))))


def _single(machine: Machine) -> Iterator[Asked]:
    kinds: tuple[QuestionKind, ...] = ("h2d", "d2h", "both", "load", "doorbell")
    for devices in _classes(machine, machine.devices()):
        first = devices[0]
        if first.link is None:
            continue
        for kind in kinds:
            yield Asked(f"{kind} {first.name}", _listed(devices), kind)


def _together(machine: Machine) -> Iterator[Asked]:
    kinds: tuple[QuestionKind, ...] = ("h2d", "d2h")
    for word in ("gpu", "nic", "nvme"):
        devices = [part for part in machine.devices(word) if part.link is not None]
        if len(devices) < 2:
            continue
        for kind in kinds:
            yield Asked(f"{kind} {_listed(devices)}", f"all {len(devices)} at once", kind)


def _pairs(machine: Machine) -> Iterator[Asked]:
    gpus = machine.devices("gpu")[:_MOST_PAIRED]
    kinds: list[QuestionKind] = []
    if machine.p2p is not False:
        kinds += ["p2p-write", "p2p-read", "p2p-both", "latency-read", "latency-write"]
    if machine.p2p is not True:
        kinds += ["staged", "staged-both", "latency-staged"]
    for one, other, of in _pair_classes(machine, permutations(gpus, 2)):
        over_peers = machine.peers_of(one.name, other.name) is not None
        for kind in kinds:
            if not over_peers or kind in ("p2p-write", "p2p-both"):
                yield Asked(f"{kind} {one.name}>{other.name}", of, kind)
    if machine.p2p is False:
        return
    for word in ("nic", "nvme"):
        others = machine.devices(word)[:_MOST_PAIRED]
        for one, other, of in _pair_classes(machine, ((one, gpu) for one in others for gpu in gpus)):
            yield Asked(f"p2p-write {one.name}>{other.name}", of, "p2p-write")
            if word == "nic":
                yield Asked(f"p2p-read {other.name}>{one.name}", of, "p2p-read")
    drives = machine.devices("nvme")
    if gpus and len(drives) > 1:
        yield Asked(f"p2p-write {_listed(drives)}>{gpus[0].name}", "all drives to one GPU", "p2p-write")


def _groups(machine: Machine) -> Iterator[Asked]:
    gpus = [gpu.name for gpu in machine.devices("gpu")]
    if len(gpus) < 2:
        return
    by_name = ring_order(gpus, machine)
    ring: QuestionKind = "ring-staged" if machine.p2p is False else "ring"
    for count in (2, 4, 8):
        if count <= min(len(gpus), _MOST_RING):
            chosen = ",".join(_ranges(by_name[:count]))
            yield Asked(f"{ring} {chosen}", f"{count} GPUs", ring)
            if machine.p2p is None and not machine.peers:
                yield Asked(f"ring-staged {chosen}", f"{count} GPUs, P2P off", "ring-staged")
    if machine.p2p is False:
        return
    pairs = " ".join(f"{one}>{other}" for one, other in zip(by_name, (*by_name[1:], by_name[0]), strict=True))
    if len(gpus) > 2:
        yield Asked(f"p2p-write {pairs}", "neighbours in a ring, all at once", "p2p-write")
    yield Asked(f"all-to-all {','.join(_ranges(gpus))}", f"{len(gpus)} GPUs", "all-to-all")


def _classes(machine: Machine, devices: Iterable[Part]) -> list[list[Part]]:
    """Devices in groups of those that answer alike."""

    def alike(part: Part) -> Hashable:
        chain = machine.chain(part.name)
        links = tuple((one.kind, one.link) for one in chain)
        return (part.kind, links, part.line_gbps, part.read_gbytes_per_s, part.write_gbytes_per_s, part.vendor)

    return list(_grouped(devices, alike).values())


def _grouped(items: Iterable[Part], key: Callable[[Part], Hashable]) -> dict[Hashable, list[Part]]:
    found: dict[Hashable, list[Part]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def _pair_classes(machine: Machine, pairs: Iterable[tuple[Part, Part]]) -> Iterator[tuple[Part, Part, str]]:
    """One pair of each class, and which pairs it stands for."""
    seen: dict[Hashable, list[tuple[Part, Part]]] = {}
    for one, other in pairs:
        way = machine.way(one.name, other.name)
        links = tuple((part.kind, part.link) for part in (*way.up, *way.down))
        peers = machine.peers_of(one.name, other.name)
        seen.setdefault((way.scope, way.is_redirected, links, peers), []).append((one, other))
    for found in seen.values():
        one, other = found[0]
        way = machine.way(one.name, other.name)
        peers = machine.peers_of(one.name, other.name)
        between = peers.kind if peers else way.scope.replace("-", " ")
        count = f"{len(found)} pairs" if len(found) > 1 else "one pair"
        yield one, other, f"{between}, {count}"


def _listed(parts: Iterable[Part]) -> str:
    return ",".join(_ranges([part.name for part in parts]))


def _ranges(names: Iterable[str]) -> Iterator[str]:
    """Names with runs of numbers as ranges: `gpu0..3`, `gpu6`."""

    def stem(name: str) -> tuple[str, int]:
        text = name.rstrip("0123456789")
        return (text, int(name[len(text) :])) if name != text and len(name) - len(text) < 4 else (name, -1)

    numbered = [(*stem(name), at) for at, name in enumerate(names)]
    for (text, _), group in groupby(numbered, key=lambda one: (one[0], one[1] - one[2])):
        run = [number for _, number, _ in group]
        yield text if run[0] < 0 else f"{text}{run[0]}" + (f"..{run[-1]}" if len(run) > 1 else "")
