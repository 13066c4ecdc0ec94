"""Systems and NICs with one planted limit, and every single change of them, enumerated from the schema.

Case *n* is the same on every machine. A limit is planted by halving (or doubling) one key of a random system until
the value falls well below the unplanted one, so that the key is known to limit it. The reference knows nothing of
the changes that `why` tries: it takes each numeric key of the schema halved, doubled and at its next legal value.

    python tests/planted_limits.py --first 0 --count 700
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from time import process_time
from typing import Any

from pcielab import Frames, _core, model
from pcielab.analysis.why import Why
from pcielab.analysis.why.nic import PACKETS, OnMachine, why_frames
from pcielab.analysis.why.one_test import why_test
from pcielab.analysis.why.predicted import predicted
from pcielab.devices.running import run
from pcielab.errors import InputError
from pcielab.library.profiles import resolve
from pcielab.library.profiles.parts import System
from pcielab.library.profiles.read import parse_sets
from pcielab.library.suites import single_test

BASES = ("gen5-x16", "gen5-gpu", "hsw2620", "snb", "clx-6234", "icx-6346")
FAST_BASES = ("gen5-x16", "gen5-gpu")
"""Where a NIC is limited by little else."""
FALLEN = 0.7
"""A planted limit takes the value to this share of the unplanted one, or below."""
ENOUGH = 0.8
"""The named change gains at least this share of what the best of the reference gains."""
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
        binds: Words that name it as the binding limit; without any, it must be the key that is changed.
        fallen: The share of the unplanted value to which it takes the value, or below.
        bases: Systems on which it can limit.
        windows: Windows of tests in which it can.
        caches: States of the caches in which it can.
        sets: Changes that make it matter, as with `--set`.
        words: Words of sentences that name it, beside its key.
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
    "MRRS": Plant(
        "link.mrrs_bytes", 0.5, _READS, ("tags", "request-rate", "wire-upstream", "root-port", "device-port"), 0.9
    ),
    "MPS": Plant(
        "link.mps_bytes", 0.5, _WRITES, ("wire-upstream", "device-port", "write-rate", "posted-credits"), 0.95
    ),
    "posted headers": Plant(f"{_COMPLEX}.posted_header_credits", 0.5, _WRITES, ("posted-credits",)),
    "posted data": Plant(f"{_COMPLEX}.posted_data_credits", 0.5, _WRITES, ("posted-credits",)),
    "non-posted headers": Plant(f"{_COMPLEX}.non_posted_header_credits", 0.5, _READS, ("non-posted-credits",)),
    "request interval": Plant(f"{_COMPLEX}.request_interval_ns", 2.0, _READS, ("request-rate",)),
    "walkers": Plant("host.iommu.walkers", 0.5, _ANY, ("page-walks", "translation"), windows=_ALL, sets=_PAGES),
    "IO-TLB": Plant(
        "host.iommu.tlb.entries",
        0.5,
        _ANY,
        ("page-walks", "translation", "tags"),
        windows=_ALL,
        sets=_PAGES,
        words=("IO-TLB:",),
    ),
    "page size": Plant(
        "iommu", ("four-kib-pages",), _ANY, ("page-walks", "translation", "tags"), windows=_ALL, sets=_SUPER
    ),
    "write pool": Plant(f"{_COMPLEX}.write_pool_lines", 0.5, ("bw-wr",), ("write-pool",)),
    "remote socket": Plant("memory_socket", (1,), ("bw-rd",), (), 0.95, _TWO_SOCKETS, words=("remote memory",)),
    "device tags": Plant("device.dma.outstanding", 0.5, _ANY, ()),
    "lanes": Plant("link.lanes", 0.5, _ANY, ("wire-upstream", "wire-downstream", "device-port", "root-port")),
    "held descriptors": Plant("nic.queues.descriptors_held", 0.5, _DIRECTIONS, ("descriptors-held",)),
    "ring": Plant("nic.queues.ring_descriptors", 0.5, _DIRECTIONS, ("ring",)),
    "transmit FIFO": Plant("nic.queues.transmit_fifo_bytes", 0.5, ("tx",), ("transmit-fifo",)),
    "NIC tags": Plant("link.tags", 0.5, ("tx", "both"), ("tags",)),
    "NIC posted data": Plant(f"{_COMPLEX}.posted_data_credits", 0.5, ("rx", "both"), ("posted-credits",)),
    "NIC lanes": Plant("link.lanes", 0.5, _DIRECTIONS, ("wire-upstream", "wire-downstream")),
    "DDIO": Plant(
        "host.llc.ddio_ways", 0.5, ("bw-rd",), ("tags",), 0.95, _MEASURED, ("1M", "2M"), ("device-warm",)
    ),
    "cores": Plant(
        "host.load.cores", 2.0, ("bw-wr",), ("memory", "write-pool"), bases=_LOADED, sets=("host.load.cores=1",)
    ),
    "batch": Plant(
        "nic.step.1.batch",
        0.5,
        ("tx",),
        ("wire-upstream", "wire-downstream", "tags", "descriptors-held"),
        0.9,
        FAST_BASES,
    ),
    "doorbells": Plant("nic.step.0.every_packets", 0.5, ("tx",), ("wire-downstream",), 0.95, FAST_BASES),
}


@dataclass(frozen=True)
class Planted:
    """A question with a planted limit.

    Attributes:
        kind: A key of `PLANTS`.
        title: The base, the work and the planted value.
        system: The system.
        test: The parameters of a test; None of a NIC.
        frames: Frames through a NIC; None of a test.
    """

    kind: str
    title: str
    system: System
    test: Mapping[str, Any] | None
    frames: Frames | None

    def ask(self) -> Why:
        """The answer of `why`."""
        if self.frames is not None:
            return why_frames(self.frames, OnMachine(self.system))
        assert self.test is not None
        return why_test(self.system, "a random system", self.test)

    def rates(self, changes: Sequence[Mapping[str, Any]]) -> list[float | None]:
        """The rate with each set of changes; None where they are impossible."""
        if self.frames is not None:
            return [_nic_rate(self.system, self.frames, one) for one in changes]
        assert self.test is not None
        systems = self.system.each_with([dict(one) for one in changes])
        possible = [(system, self.test) for system in systems if system is not None]
        found = iter(predicted(possible))
        return [next(found) if system is not None else None for system in systems]


def _nic_rate(system: System, frames: Frames, changes: Mapping[str, Any]) -> float | None:
    own = {key.removeprefix("nic."): value for key, value in changes.items() if key.startswith("nic.")}
    try:
        changed = system.with_({key: value for key, value in changes.items() if not key.startswith("nic.")})
        nic = frames.nic.with_(own)
        backend = _core.Backend.nic(changed.handle, nic.handle, frames.frame_bytes_least)
        store = run(replace(frames, nic=nic, packets=PACKETS), backend)
        return float(store.scalars["bandwidth"].iloc[0])
    except InputError:
        return None


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
    return _limited(Planted(kind, f"{base}, {work}", system, test, frames), plant)


def _limited(case: Planted, plant: Plant) -> Planted | None:
    [before] = case.rates([{}])
    if before is None:
        return None
    values = list(_worse(case, plant))
    for value, rate in zip(values, case.rates([{plant.key: value} for value in values]), strict=True):
        if rate is not None and rate <= plant.fallen * before:
            title = f"{case.title}, {plant.key} = {value}: {rate:.1f} of {before:.1f} Gb/s"
            if plant.key.startswith("nic."):
                assert case.frames is not None
                nic = case.frames.nic.with_({plant.key.removeprefix("nic."): value})
                return replace(case, title=title, frames=replace(case.frames, nic=nic))
            return replace(case, title=title, system=case.system.with_({plant.key: value}))
    return None


def _worse(case: Planted, plant: Plant) -> Iterator[Any]:
    """Ever worse values of the planted key."""
    if isinstance(plant.factor, tuple):
        yield from plant.factor
        return
    value = _value_of(case, plant.key)
    if value in (None, "infinite"):
        value = 4096
    value = value or (1 if plant.factor > 1 else 0)
    for _ in range(_STEPS_MOST):
        value = value * plant.factor
        if isinstance(_value_of(case, plant.key), int | str) or plant.factor < 1:
            value = int(value)
        if not value:
            return
        yield value


def _value_of(case: Planted, key: str) -> Any:
    try:
        if key.startswith("nic."):
            assert case.frames is not None
            return case.frames.nic.handle.get(key.removeprefix("nic."))
        return case.system.handle.get(key)
    except InputError:
        return None


def reference(case: Planted) -> Iterator[dict[str, Any]]:
    """Every numeric key of the schema halved, doubled and at its next legal value."""
    schema = json.loads(_core.System.schema())
    for key, value, described in _leaves(schema, schema, case.system.handle.values(), ""):
        yield from ({key: one} for one in _others(value, described) if (key, one) != ("link.lanes", 32))
    if case.frames is not None:
        queues = case.frames.nic.handle.get("queues")
        yield from (
            {f"nic.queues.{key}": one}
            for key, value in queues.items()
            for one in (value // 2, value * 2)
            if one and value
        )


def _leaves(whole: Any, schema: Any, value: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Numbers of a description with the schemas of their keys."""
    if "$ref" in schema:
        schema = {
            **whole["$defs"][schema["$ref"].rpartition("/")[2]],
            **{k: schema[k] for k in schema if k != "$ref"},
        }
    for option in schema.get("anyOf", []):
        if "$ref" in option or option.get("type") in ("object", "integer", "number"):
            schema = {**schema, **option}
            schema.pop("anyOf", None)
            if "$ref" in schema:
                yield from _leaves(whole, schema, value, path)
                return
            break
    if isinstance(value, dict):
        for key, inner in value.items():
            below = f"{path}.{key}" if path else key
            yield from _leaves(whole, schema.get("properties", {}).get(key, {}), inner, below)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value, schema


def _others(value: float, schema: Any) -> Iterator[float]:
    choices = [one for one in schema.get("enum", []) if isinstance(one, int)]
    if choices:
        at = choices.index(int(value))
        yield from (choices[nth] for nth in (at - 1, at + 1) if 0 <= nth < len(choices))
        return
    whole = isinstance(value, int) and schema.get("type") != "number"
    for one in (value / 2, value * 2):
        one = int(one) if whole else one
        low, high = schema.get("minimum", -1e30), schema.get("maximum", 1e30)
        if low <= one <= high and one != value:
            yield one


def words_in(sentence: str) -> int:
    """How many words and numbers a sentence has; arrows and units of one sign are none."""
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


@dataclass(frozen=True)
class Verdict:
    """How an answer stands to its planted limit.

    Attributes:
        case: The question.
        answer: The answer.
        is_named: Whether the planted limit is named: as what binds, as what to change, or beside them.
        reached: The gain of the named change over the best of the reference; 1 where that gains nothing.
        best: The best single change of the reference, and its gain in percent.
        gain: The gain of the named change in percent.
        longest: Words of the longest sentence.
        seconds: Processor time of the answer.
    """

    case: Planted
    answer: Why
    is_named: bool
    reached: float
    best: tuple[str, float]
    gain: float
    longest: int
    seconds: float

    @property
    def text(self) -> str:
        """One line on the case and its answer."""
        key, best = self.best
        named = "named" if self.is_named else f"MISSED, {self.answer.binds} binds"
        changed = self.answer.change.what if self.answer.change is not None else "no change"
        return (
            f"{self.case.kind}, {self.case.title}: {named}; "
            f"{changed} gains {self.gain:.1f} %, {key} {best:.1f} %, "
            f"{self.longest} words, {self.seconds:.1f} s"
        )

    @property
    def is_false_none(self) -> bool:
        """Whether the answer says that nothing helps, although something does."""
        return self.answer.sentences[-1].startswith("None of") and self.best[1] >= 2.0


def judged(case: Planted, most: int | None = None) -> Verdict:
    """The answer to a question, held against the reference, or the planted key of it and `most` other changes."""
    began, plant = process_time(), PLANTS[case.kind]
    answer = case.ask()
    seconds = process_time() - began
    changes = list(reference(case))
    if most is not None:
        of_planted = [one for one in changes if plant.key in one]
        others = [one for one in changes if plant.key not in one]
        changes = [*of_planted, *Random(case.title).sample(others, min(most, len(others)))]
    [before, *after] = case.rates([{}, *changes])
    assert before is not None
    gains = [
        (f"{next(iter(one))} = {next(iter(one.values()))}", 100 * (rate / before - 1))
        for one, rate in zip(changes, after, strict=True)
        if rate is not None
    ]
    best = max(gains, key=lambda pair: pair[1])
    gain = answer.change.gain_percent if answer.change is not None else 0.0
    keys = set(answer.change.keys) if answer.change is not None else set()
    said = " ".join(answer.sentences)
    is_named = (
        answer.binds in plant.binds or plant.key in keys or any(one in said for one in (plant.key, *plant.words))
    )
    return Verdict(
        case,
        answer,
        is_named,
        gain / best[1] if best[1] >= 1 else 1.0,
        best,
        gain,
        max(map(words_in, answer.sentences)),
        seconds,
    )


def main() -> None:
    """Print the verdict of each case, and shares of each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=700)
    asked = parser.parse_args()
    verdicts = []
    for number in range(asked.first, asked.first + asked.count):
        case = planted(number)
        if case is None:
            continue
        verdict = judged(case)
        verdicts.append(verdict)
        print(f"{number}: {verdict.text}", flush=True)
    for kind in PLANTS:
        found = [one for one in verdicts if one.case.kind == kind]
        named = sum(one.is_named for one in found)
        gained = sum(one.reached >= ENOUGH for one in found)
        none = sum(one.is_false_none for one in found)
        print(f"{kind}: of {len(found)} named {named}, enough gained {gained}, none said falsely {none}")
    seconds = sorted(one.seconds for one in verdicts)
    print(f"processor time: median {seconds[len(seconds) // 2]:.1f} s, most {seconds[-1]:.1f} s")


if __name__ == "__main__":
    main()
