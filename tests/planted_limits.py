"""Systems and NICs with one planted limit.

Case *n* is the same on every machine. A limit is planted by halving (or doubling) one key of a random system until
the value falls well below the unplanted one, so that the key is known to limit it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from pcielab import Frames, model
from pcielab.errors import InputError
from pcielab.library.profiles import resolve
from pcielab.library.profiles.read import parse_sets
from pcielab.library.suites import single_test
from single_changes import MIDDLE, NIC, Question

BASES = ("gen5-x16", "gen5-gpu", "hsw2620", "snb", "clx-6234", "icx-6346")
FAST_BASES = ("gen5-x16", "gen5-gpu")
"""Where a NIC is limited by little else."""
LINE = "line_gbps"
"""Key of the line of frames."""
FALLEN = 0.7
"""A planted limit takes the value to this share of the unplanted one, or below."""
_STEPS_MOST = 14
_DRAWS = 12
"""Systems and tests that are drawn for a limit, until one of them is limited by it."""


@dataclass(frozen=True)
class Plant:
    """A kind of limit.

    Attributes:
        key: The key that is made worse; of a NIC it begins with `nic.`.
        factor: What it is multiplied by, again and again; or the values that it gets in turn.
        operations: Tests that it can limit, or directions of a NIC.
        binds: Bounds that are this limit.
        fallen: The share of the unplanted value to which it takes the value, or below.
        bases: Systems on which it can limit.
        windows: Windows of tests in which it can.
        caches: States of the caches in which it can.
        sets: Changes that make it matter, as with `--set`.
        words: Words that name it, beside its key, in the sentence on what binds or on what to change.
    """

    key: str
    factor: float | tuple[Any, ...]
    operations: tuple[str, ...]
    binds: tuple[str, ...]
    fallen: float = FALLEN
    bases: tuple[str, ...] = BASES
    windows: tuple[str, ...] = ("8K",)
    caches: tuple[str, ...] = ("cold", "host-warm")
    sets: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


_DIRECTIONS = ("both", "tx", "rx")
_READS, _WRITES, _ANY = ("bw-rd", "bw-rdwr"), ("bw-wr", "bw-rdwr"), ("bw-rd", "bw-wr", "bw-rdwr")
_COMPLEX = "host.root_complex"
_ALL = ("8K", "256K", "16M")
_PAGES, _SUPER = ("iommu=four-kib-pages",), ("iommu=super-pages",)
_MEASURED, _TWO_SOCKETS, _LOADED = ("hsw2620", "snb", "ib-000"), ("ib-000", "bdw-000"), ("clx-6234",)
PLANTS = {
    "tags": Plant("link.tags", 0.5, _READS, ("tags",)),
    "MRRS": Plant("link.mrrs_bytes", 0.5, _READS, (), 0.9, words=("MRRS",)),
    "MPS": Plant("link.mps_bytes", 0.5, _WRITES, (), 0.95, words=("MPS",)),
    "posted headers": Plant(f"{_COMPLEX}.posted_header_credits", 0.5, _WRITES, ("posted-credits",)),
    "posted data": Plant(f"{_COMPLEX}.posted_data_credits", 0.5, _WRITES, ("posted-credits",)),
    "non-posted headers": Plant(f"{_COMPLEX}.non_posted_header_credits", 0.5, _READS, ("non-posted-credits",)),
    "request interval": Plant(f"{_COMPLEX}.request_interval_ns", 2.0, _READS, ("request-rate",)),
    "walkers": Plant("host.iommu.walkers", 0.5, _ANY, ("page-walks", "translation"), windows=_ALL, sets=_PAGES),
    "IO-TLB": Plant(
        "host.iommu.tlb.entries",
        0.5,
        _ANY,
        ("page-walks", "translation"),
        windows=_ALL,
        sets=_PAGES,
        words=("IO-TLB",),
    ),
    "page size": Plant(
        "iommu", ("four-kib-pages",), _ANY, ("page-walks", "translation"), windows=_ALL, sets=_SUPER
    ),
    "write pool": Plant(f"{_COMPLEX}.write_pool_lines", 0.5, ("bw-wr",), ("write-pool",)),
    "remote socket": Plant("memory_socket", (1,), ("bw-rd",), (), 0.95, _TWO_SOCKETS, words=("remote memory",)),
    "device tags": Plant("device.dma.outstanding", 0.5, _ANY, (), words=("DMAs in flight",)),
    "lanes": Plant("link.lanes", 0.5, _ANY, ("wire-upstream", "wire-downstream", "device-port", "root-port")),
    "held descriptors": Plant("nic.queues.descriptors_held", 0.5, _DIRECTIONS, ("descriptors-held",)),
    # Accesses that wait for a batch of packets, too, may wait for a longer ring.
    "ring": Plant("nic.queues.ring_descriptors", 0.5, _DIRECTIONS, ("ring",), words=("in a ring of",)),
    "transmit FIFO": Plant("nic.queues.transmit_fifo_bytes", 0.5, ("tx",), ("transmit-fifo",)),
    "NIC tags": Plant("link.tags", 0.5, ("tx", "both"), ("tags",)),
    "NIC posted data": Plant(f"{_COMPLEX}.posted_data_credits", 0.5, ("rx", "both"), ("posted-credits",)),
    "NIC lanes": Plant("link.lanes", 0.5, _DIRECTIONS, ("wire-upstream", "wire-downstream")),
    "DDIO": Plant(
        "host.llc.ddio_ways", 0.5, ("bw-rd",), (), 0.95, _MEASURED, ("1M", "2M"), ("device-warm",), words=("DDIO",)
    ),
    "cores": Plant("host.load.cores", 2.0, ("bw-wr",), ("memory",), bases=_LOADED, sets=("host.load.cores=1",)),
    "batch": Plant(
        "nic.step.1.batch",
        0.5,
        ("tx",),
        (),
        0.9,
        FAST_BASES,
        # Packets for each read of descriptors, in the other of its two keys.
        words=("descriptor reads", "nic.step.1.every_packets"),
    ),
    "doorbells": Plant("nic.step.0.every_packets", 0.5, ("tx",), (), 0.95, FAST_BASES, words=("doorbells",)),
    "line": Plant(LINE, 0.5, _DIRECTIONS, ("line",)),
}


@dataclass(frozen=True)
class Planted(Question):
    """A question with a planted limit.

    Attributes:
        kind: A key of `PLANTS`.
        title: The base, the work and the planted value.
    """

    kind: str
    title: str


def planted(number: int) -> Planted | None:
    """Case `number`; None if its limit cannot be planted in any of some draws."""
    kinds = list(PLANTS)
    kind = kinds[number % len(kinds)]
    draws = (_drawn(kind, Random(f"planted {number} {draw}")) for draw in range(_DRAWS))
    return next((case for case in draws if case is not None), None)


def _drawn(kind: str, random: Random) -> Planted | None:
    plant = PLANTS[kind]
    of_nic = plant.operations[0] in _DIRECTIONS
    base = random.choice(FAST_BASES if of_nic else plant.bases)
    frames = None
    test: Mapping[str, Any] | None = None
    if not of_nic:
        size = random.choice((64, 128, 256, 512, 1024, 2048))
        window, operation = random.choice(plant.windows), random.choice(plant.operations)
        cache = random.choice(plant.caches)
        test = single_test(operation, size=size, window=window, cache=cache).tests[0]["parameters"]
        work = f"{operation} of {size} B, {window}, {cache}"
    else:
        name = random.choice(("niantic-dpdk", "connectx-7", "connectx-6-kernel"))
        size, line = random.choice((64, 256, 512, 1500)), random.choice((200.0, 400.0))
        direction = random.choice(plant.operations)
        nic = model.load_nic(name).with_({"queues.descriptors_held": 512, "queues.ring_descriptors": 2048})
        frames = Frames(nic, [size], model.Ethernet(line_gbps=line), direction)  # type: ignore[arg-type]
        work = f"{name}, {size} B, {line:g} Gb/s, {direction}"
    sets = [*plant.sets, *(["device=direct-dma"] if frames is not None else [])]
    try:
        system = resolve(base, parse_sets(sets)).system
    except InputError:
        return None
    return _limited(Planted(system, test, frames, kind, f"{base}, {work}"), plant)


def _limited(case: Planted, plant: Plant) -> Planted | None:
    [before] = case.rates([{}], MIDDLE)
    if before is None:
        return None
    for value in _worse(case, plant):
        changed = _with(case, plant.key, value)
        rate = None if changed is None else changed.rates([{}], MIDDLE)[0]
        if changed is not None and rate is not None and rate <= plant.fallen * before:
            title = f"{case.title}, {plant.key} = {value}: {rate:.1f} of {before:.1f} Gb/s"
            return replace(changed, title=title)
    return None


def _with(case: Planted, key: str, value: Any) -> Planted | None:
    """The case with a key changed; None if that is impossible."""
    try:
        if case.frames is not None and key.startswith(NIC):
            nic = case.frames.nic.with_({key.removeprefix(NIC): value})
            return replace(case, frames=replace(case.frames, nic=nic))
        if case.frames is not None and key == LINE:
            return replace(case, frames=replace(case.frames, ethernet=model.Ethernet(line_gbps=value)))
        return replace(case, system=case.system.with_({key: value}))
    except InputError:
        return None


def _worse(case: Planted, plant: Plant) -> Iterator[Any]:
    """Ever worse values of the planted key."""
    if isinstance(plant.factor, tuple):
        yield from plant.factor
        return
    value = case.frames.ethernet.line_gbps if case.frames and plant.key == LINE else case.value(plant.key)
    if value in (None, "infinite"):
        value = 4096
    value = value or (1 if plant.factor > 1 else 0)
    for _ in range(_STEPS_MOST):
        value = value * plant.factor
        if isinstance(case.value(plant.key), int | str) or plant.factor < 1:
            value = int(value)
        if not value:
            return
        yield value
