"""Claims in the words of answers, each computed again: what binds, what it allows, what fits and what helps.

A question of any kind is drawn from its number; its answer's sentences are read with the expressions below, and
every number and name in them is compared with another way to the same value: the closed form at another point, the
simulator on the changed system, or the sums over a fabric's edges.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pandas as pd

from common_defects import defects
from pcielab import _core, fabric, model
from pcielab.analysis.normal import normal
from pcielab.analysis.why import Why, why
from pcielab.analysis.why.answer import Change
from pcielab.analysis.why.predicted import predicted
from pcielab.errors import InputError
from pcielab.kinds.transfers.bounds import system_bounds
from pcielab.library.nics import NicProfile, load_nic
from pcielab.library.profiles import resolve
from pcielab.library.profiles.parts import System
from pcielab.work.frames import Frames
from random_systems import random_case
from single_changes import FULL, Question

ROUNDED = 0.006
"""Half a unit of the third digit, relative: answers show three digits."""
SIMULATED = 0.03
"""Two simulations of one case with other draws differ by less."""
SURE_FROM, CLOSE_PERCENT = 0.95, 5.0
"""An answer is sure of a bound that a value reaches this share of, if the next bound is farther than that."""


@dataclass(frozen=True)
class Claim:
    """A claim of an answer.

    Attributes:
        words: The claim, as the answer words it.
        holds: Whether it is true.
        computed: What was computed again.
    """

    words: str
    holds: bool
    computed: str


def claims(number: int) -> list[Claim]:
    """The claims of the answer to question `number`; none if the question is refused."""
    kinds = sorted(KINDS)
    kind = kinds[number % len(kinds)]
    try:
        return list(KINDS[kind](Random(f"{kind} {number}"), number))
    except InputError:
        return []


def _close(shown: float, computed: float, tolerance: float = ROUNDED) -> bool:
    return abs(shown - computed) <= tolerance * abs(computed) + 1e-9


def _number(text: str) -> float:
    return float(text.replace(",", ""))


# Links in closed form.


def _random_link(random: Random, flit: bool = True) -> model.Link:
    return model.Link(
        generation=random.randint(1, 7 if flit else 5),
        lanes=random.choice((1, 2, 4, 8, 12, 16)),
        mps_bytes=random.choice((128, 256, 512, 1024)),
        mrrs_bytes=random.choice((128, 256, 512, 1024, 4096)),
        rcb_bytes=random.choice((64, 128)),
        ecrc=random.random() < 0.2,
    )


def _of_links(random: Random, _case: int) -> Iterator[Claim]:
    """`binds` is the tightest bound, and `tags_to_fill` fill the link where one fewer does not."""
    link, size = _random_link(random), random.choice((random.randint(1, 512), random.randint(1, 4096)))
    round_trip_ns = random.uniform(100, 5000)
    tags = random.choice((None, 8, 32, 64, 256, 768))

    def read(outstanding: int | None) -> Any:
        limits = model.Limits(round_trip_ns=round_trip_ns, tags=outstanding)
        return model.bandwidth(link, [size], limits=limits)[0]

    answer = read(tags)
    for way in ("read", "write", "rdwr"):
        rate = getattr(answer, way)
        least = min(rate.ceilings, key=lambda ceiling: ceiling.gbps)
        yield Claim(
            f"{rate.bound} binds {way} of {size} B over {link} at {rate.gbps} Gb/s",
            rate.bound == rate.ceilings[0].bound and _close(rate.gbps, least.gbps, 1e-9),
            f"{least.bound} allows {least.gbps}",
        )
    if answer.tags_to_fill is None:
        return
    full, fewer, free = read(answer.tags_to_fill), read(answer.tags_to_fill - 1 or 1), read(1 << 20)
    yield Claim(
        f"{answer.tags_to_fill} tags fill {link} with {size} B over {round_trip_ns} ns",
        full.read.bound != "tags" and _close(full.read.gbps, free.read.gbps, 1e-9),
        f"with them {full.read.bound} binds at {full.read.gbps}, with any number {free.read.gbps}",
    )
    yield Claim(
        f"{answer.tags_to_fill - 1} tags do not",
        answer.tags_to_fill == 1 or fewer.read.gbps < free.read.gbps,
        f"with one fewer {fewer.read.gbps} of {free.read.gbps}",
    )


def _of_sizing(random: Random, _case: int) -> Iterator[Claim]:
    """Packets in flight cover the latency where one fewer does not."""
    line_gbps = random.choice((1.0, 10.0, 25.0, 40.0, 100.0, 200.0, 400.0))
    frame, latency_ns = random.randint(64, 9000), random.uniform(50, 5000)
    [row] = model.sizing([frame], [latency_ns], ethernet=model.Ethernet(line_gbps=line_gbps))
    # Preamble, start and the gap: 20 B of the line.
    interval_ns = 8 * (frame + 20) / line_gbps
    yield Claim(
        f"a {frame} B frame each {row.packet_interval_ns} ns",
        _close(row.packet_interval_ns, interval_ns, 1e-6),
        f"{interval_ns}",
    )
    many = row.packets_in_flight
    yield Claim(
        f"{many} packets in flight at {latency_ns} ns",
        (many - 1) * interval_ns < latency_ns * (1 + 1e-9) and many * interval_ns >= latency_ns * (1 - 1e-9),
        f"{latency_ns / interval_ns} intervals",
    )


# `why` about a test on a system.

_BINDS = re.compile(
    r"^(?P<bound>[\w-]+) binds at (?P<allows>[\d.]+) Gb/s(?: (?P<made>(?:with|over) [^;]+))?; "
    r"the simulated (?P<value>[\d.]+) Gb/s is (?P<share>\d+) % of it"
)
_NEXT = re.compile(
    r"the next bound, (?P<bound>[\w-]+), is (?:only )?"
    r"(?:(?P<percent>\d+) % higher|(?P<times>\d+) times as high)"
)
_PROOF = re.compile(
    r": (?P<what>.+?) alone gives (?P<value>[\d.]+) Gb/s, (?P<share>\d+) % of what (?P<bound>[\w-]+) allows"
)
_NONE = re.compile(r"^None of the (?P<many>\d+) (?:changes of [\w ,]+|changes) (?:that were )?tried")
_MOST = re.compile(
    r"^Most is gained (?:by|with) (?P<what>.+?), "
    r"(?P<value>[\d.]+) (?P<unit>Gb/s|ns) \((?P<percent>[+-][\d.]+) %\)"
)
_MADE = re.compile(r"^(?:with|over) (?P<before>\D*?)(?P<value>[\d.]+)(?P<after>[^(]*?)(?: \(\w+\))?$")
_RESOURCES: dict[str, tuple[str, ...]] = {
    "tags": ("link.tags",),
    "MRRS": ("link.mrrs_bytes",),
    "tags of the device": ("device.dma.tags",),
    "DMAs in flight": ("device.dma.outstanding", "test.outstanding"),
    "posted header credits": ("host.root_complex.posted_header_credits",),
    "posted data credits": ("host.root_complex.posted_data_credits",),
    "non-posted header credits": ("host.root_complex.non_posted_header_credits",),
    "a read request every ns": ("host.root_complex.request_interval_ns",),
    "a write TLP every ns": ("host.root_complex.write_interval_ns",),
    "a written line every ns": ("host.root_complex.write_line_ns",),
    "receive buffers": ("device.dma.receive_buffers",),
    "a replay buffer of flits": ("link.replay_buffer_flits",),
    "a replay buffer of B": ("link.replay_buffer_bytes",),
    "B for completions": ("device.dma.completion_buffer_bytes",),
    "completion headers": ("device.dma.completion_buffer_headers",),
    "page walkers": ("host.iommu.walkers",),
    "pending page walks": ("host.iommu.pending_walks",),
    "IO-TLB entries": ("host.iommu.tlb.entries",),
    "walks of ns": ("host.iommu.walker_busy_ns",),
    "lines of writes": ("host.root_complex.write_pool_lines",),
    "lines of reads": ("host.root_complex.read_pool_lines",),
    "busy cores": ("host.load.cores",),
}
"""Keys of the resources that answers name."""
_FLOOR_PERCENT = 1.5
"""A change that helps gains at least 1 %, computed again within the spread of simulations."""


def _of_tests(random: Random, number: int) -> Iterator[Claim]:
    """What binds, how near the next bound is, and what the best change gives, simulated again."""
    case = random_case(number, transactions=1 << 16)
    system = System.of_json(case.system)
    answer = _why_test(system, case.test)
    [bounds] = system_bounds(system.handle, [case.test])
    if bounds is None:
        return
    ceilings = [(ceiling.bound, ceiling.gbps) for ceiling in bounds.answer.ceilings]
    [simulated] = predicted([(system, case.test)])
    value = simulated or math.nan
    yield from _of_bounds(answer, ceilings, value, case.title)
    yield from _of_resource(answer, system, case.test, ceilings[0], case.title)
    tried = [change for change in answer.changes if " and " not in change.what]
    after = dict(zip([change.what for change in tried], values_after(system, case.test, tried), strict=True))
    yield from claims_of_proof(answer, after, ceilings[0], value, case.title)
    yield from _of_changes(answer, after, value, case.title)


def values_after(system: System, test: dict[str, Any], changes: Sequence[Change]) -> list[float | None]:
    """The value of a test with each change made, by its keys."""
    found: list[float | None] = []
    for change in changes:
        of_test = {
            key.removeprefix("test."): value for key, value in change.keys.items() if key.startswith("test.")
        }
        of_system = {key: value for key, value in change.keys.items() if not key.startswith("test.")}
        found += predicted([(system.with_(of_system) if of_system else system, {**test, **of_test})])
    return found


def _why_test(system: System, test: dict[str, Any]) -> Why:
    from pcielab.analysis.why.one_test import why_test

    return why_test(system, "a random system", test)


def _of_bounds(answer: Why, ceilings: Sequence[tuple[str, float]], value: float, title: str) -> Iterator[Claim]:
    first, sure = answer.sentences[0], answer.sentences[1]
    ordered = sorted(ceilings, key=lambda pair: pair[1])
    if match := _BINDS.match(first):
        name, allows = ordered[0]
        yield Claim(
            f"{first} ({title})",
            match["bound"] == name
            and _close(_number(match["allows"]), allows)
            and _close(_number(match["value"]), value, SIMULATED)
            and abs(_number(match["share"]) - 100 * value / allows) <= 1 + 100 * SIMULATED,
            f"{name} allows {allows}, simulated {value}",
        )
    if (match := _NEXT.search(sure)) and len(ordered) > 1:
        (_, bound), (name, other) = ordered[:2]
        shown = match["percent"]
        holds = (
            abs(_number(shown) - 100 * (other / bound - 1)) <= 1
            if shown
            else abs(_number(match["times"]) - other / bound) <= 1
        )
        yield Claim(f"{sure} ({title})", match["bound"] == name and holds, f"{name} allows {other} of {bound}")
    if sure.startswith("Sure"):
        far = len(ordered) < 2 or ordered[1][1] > (1 + CLOSE_PERCENT / 100) * ordered[0][1]
        share = value / ordered[0][1] if ordered else math.nan
        yield Claim(
            f"{sure} ({title})", share >= SURE_FROM - SIMULATED and far, f"share {share}, bounds {ordered[:2]}"
        )


def _of_resource(
    answer: Why, system: System, test: dict[str, Any], bound: tuple[str, float], title: str
) -> Iterator[Claim]:
    """The resources that the first sentence names, of which half or twice as much would change it.

    One that names what holds a value down may have no words left for them.
    """
    match = _BINDS.match(answer.sentences[0])
    if match is None or (match["made"] is None and ", held down by " in answer.sentences[0]):
        return
    first, *others = (match["made"] or "").split(" and ")
    for made in (first, *(f"with {other}" for other in others)):
        yield from _of_made(made, f"{answer.sentences[0]} ({title})", system, test, bound)


def _of_made(
    text: str, words: str, system: System, test: dict[str, Any], bound: tuple[str, float]
) -> Iterator[Claim]:
    made = _MADE.match(text)
    if made is None:
        yield Claim(words, holds=False, computed="no resource is named")
        return
    value = _number(made["value"])
    what = f"{made['before']}{made['after'].strip()}".strip()
    if what == "a transfer every ns":
        pace_ns = 8 * test["size_bytes"] / bound[1]
        yield Claim(words, _close(value, pace_ns), f"a transfer every {pace_ns} ns")
        return
    if made["before"] == "Gen":
        link = system.link
        holds = (value, made["after"].strip()) == (link.generation, f"x{link.lanes}")
        yield Claim(words, holds, f"Gen{link.generation} x{link.lanes}")
        return
    values = {key: _value_of(system, test, key) for key in _RESOURCES[what]}
    known = [key for key, own in values.items() if own is not None and _close(value, own)]
    yield Claim(words, bool(known), f"{values}")
    for key in known:
        rates = [_bound_with(system, test, key, factor, bound[0]) for factor in (0.5, 2.0)]
        moved = any(rate is None or not _close(rate, bound[1], 1e-3) for rate in rates)
        yield Claim(words, moved, f"{key} halved and doubled: {bound[0]} allows {rates} of {bound[1]}")


def _value_of(system: System, test: dict[str, Any], key: str) -> float | None:
    own = key.removeprefix("test.")
    found = test.get(own) if own != key else system.handle.get(key)
    return float(found) if isinstance(found, int | float) else None


def _bound_with(system: System, test: dict[str, Any], key: str, factor: float, bound: str) -> float | None:
    """What a bound allows with a key scaled; None if it is no bound then, or the value impossible."""
    value = (_value_of(system, test, key) or 0.0) * factor
    scaled = value if key.endswith("_ns") else max(1, int(value))
    own = key.removeprefix("test.")
    try:
        changed = system if own != key else system.with_({key: scaled})
    except InputError:
        return None
    [found] = system_bounds(changed.handle, [{**test, **({own: scaled} if own != key else {})}])
    if found is None:
        return None
    return next((one.gbps for one in found.answer.ceilings if one.bound == bound), None)


def claims_of_proof(
    answer: Why, after: dict[str, float | None], bound: tuple[str, float], before: float, title: str
) -> Iterator[Claim]:
    """The reason that holds a value down: one change takes at least half of it away."""
    proof = _PROOF.search(answer.sentences[1])
    is_held_down = ", held down by " in answer.sentences[0]
    if proof is None and not is_held_down:
        return
    (name, allows), value = bound, proof and after.get(proof["what"])
    yield Claim(
        f"{' '.join(answer.sentences[:2])} ({title})",
        is_held_down
        and proof is not None
        and proof["bound"] == name
        and value is not None
        and _close(_number(proof["value"]), value, SIMULATED)
        and abs(_number(proof["share"]) - 100 * value / allows) <= 1 + 100 * SIMULATED
        and value >= (1 - SIMULATED) * (before + allows) / 2,
        f"{name} allows {allows}, {before} before, {value} with the change",
    )


def _of_changes(answer: Why, after: dict[str, float | None], before: float, title: str) -> Iterator[Claim]:
    last = answer.sentences[-1]
    gains = {what: 100 * (value / before - 1) for what, value in after.items() if value is not None}
    if match := _NONE.match(last):
        best = max(gains.values(), default=0.0)
        yield Claim(
            f"{last} ({title})",
            int(match["many"]) <= len(gains) and best < 1 + _FLOOR_PERCENT,
            f"{len(gains)} changes, the best gains {best:.2f} %",
        )
    if match := _MOST.match(last):
        value = after.get(_without_who(match["what"]))
        of_machine = [gain for what, gain in gains.items() if not _is_of_test(what)]
        best = max(of_machine if not _is_of_test(match["what"]) else gains.values(), default=math.nan)
        yield Claim(
            f"{last} ({title})",
            value is not None
            and _close(_number(match["value"]), value, SIMULATED)
            and 100 * (value / before - 1) >= 0.9 * best - 100 * SIMULATED,
            f"{match['what']} gives {value} of {before}, the best of its kind gains {best:.1f} %",
        )


_MORE = re.compile(r"^The measured [\d.]+ Gb/s is more than [\w-]+ allows, (?P<allows>[\d.]+) Gb/s")
_ALLOWED = re.compile(r"^It would be allowed by (?P<what>.+?), (?P<value>[\d.]+) Gb/s \(")
_FITS = re.compile(r"the measured value fits a defect of the machine, (?P<defects>.+)\.$")
_DEFECT = re.compile(r"(?P<what>[^()]+?) \((?P<value>[\d.]+) Gb/s\)(?:, | or )?")
_FITTING = 0.05
"""A defect fits a measured value that it explains to this share."""


def _of_measured(random: Random, number: int) -> Iterator[Claim]:
    """Whether a bound allows a measured value, which changes would, and which defects give it."""
    from pcielab.analysis.why.one_test import why_test

    case = random_case(number, transactions=1 << 16)
    system = System.of_json(case.system)
    [bounds], [simulated] = (
        system_bounds(_core.System.of_json(case.system), [case.test]),
        predicted([(system, case.test)]),
    )
    if bounds is None or simulated is None:
        return
    measured = float(f"{simulated * random.uniform(0.3, 1.4):.3g}")
    answer = why_test(system, "a random system", case.test, measured=measured)
    first, sure, last = answer.sentences
    title = f"{measured} Gb/s on {case.title}"
    allows = bounds.answer.gbps
    match = _MORE.match(first)
    yield Claim(
        f"{first} ({title})",
        (match is not None and measured > allows and _close(_number(match["allows"]), allows))
        or (match is None and measured <= 1.01 * allows),
        f"{bounds.answer.bound} allows {allows}",
    )
    if match := _ALLOWED.match(last):
        allowed = [change for change in answer.changes if change.what == _without_who(match["what"])]
        [value] = values_after(system, case.test, allowed) if allowed else [None]
        holds = value is not None and value >= measured * (1 - SIMULATED)
        shown = _close(_number(match["value"]), value or 0.0, SIMULATED)
        yield Claim(f"{last} ({title})", holds and shown, f"{value}")
    if match := _FITS.search(sure):
        known = {defect.what: defect for defect in defects(system)}
        for defect in _DEFECT.finditer(match["defects"]):
            variant = known.get(defect["what"])
            [value] = predicted([(variant.system, case.test)]) if variant else [None]
            near = value is not None and abs(value / measured - 1) <= _FITTING + SIMULATED
            yield Claim(f"{sure} ({title})", near, f"{defect['what']} gives {value}")


def _is_of_test(what: str) -> bool:
    """Whether a change is one of the test: its key has no dot, and is no key of a whole system."""
    key = what.split()[0]
    return "." not in key and key not in ("iommu", "memory_socket", "program_socket", "chunk_bytes")


def _without_who(what: str) -> str:
    """The words of a change without those who can make it."""
    return re.sub(r" \((?:setting|driver|slot|slot and device|device|processor)\)$", "", what)


# `why` about a NIC on a bare link.

_NIC_BINDS = re.compile(
    r"^(?P<bound>The line|Interrupt moderation|[\w-]+) binds (?P<nic>\S+) at (?P<allows>[\d.]+) Gb/s "
    r"\((?P<millions>[\d.]+) million packets/s, one every (?P<interval>[\d.]+) ns\)"
)


_NICS = ("connectx-5", "connectx-6-dx", "connectx-7", "e810-kernel", "niantic-dpdk", "niantic-kernel")


def _of_nics(random: Random, _case: int) -> Iterator[Claim]:
    """The rate, packets and interval of frames, and the rate that the best change allows."""
    name = random.choice(_NICS)
    frame, line_gbps = random.randint(64, 1518), random.choice((10.0, 25.0, 40.0, 100.0, 200.0, 400.0))
    link = replace(_random_link(random, flit=False), rcb_bytes=64, ecrc=False)
    nic = load_nic(name)
    ethernet = model.Ethernet(line_gbps=line_gbps)
    answer = why(Frames(nic, (frame,), ethernet=ethernet), link=link)
    [row] = model.nic(nic, link, [frame], ethernet=ethernet)
    rates = [("line", row.line_gbps), *((ceiling.bound, ceiling.gbps) for ceiling in row.bi.ceilings)]
    bound, allows = min(rates, key=lambda pair: pair[1])
    title = f"{name}, {frame} B, {line_gbps} Gb/s, {link}"
    if match := _NIC_BINDS.match(answer.sentences[0]):
        millions = 1e3 * allows / (8 * (frame - 4))
        yield Claim(
            f"{answer.sentences[0]} ({title})",
            match["bound"].removeprefix("The ") == bound
            and _close(_number(match["allows"]), allows)
            and _close(_number(match["millions"]), millions)
            and _close(_number(match["interval"]), 1e3 / millions),
            f"{bound} allows {allows} Gb/s, {millions} million packets/s",
        )
    yield from _of_next_bound(answer, rates, title)
    if match := _MOST.match(answer.sentences[-1]):
        best = max(
            (change.after for change in answer.changes if change.of == answer.changes[0].of), default=math.nan
        )
        yield Claim(
            f"{answer.sentences[-1]} ({title})",
            any(_close(_number(match["value"]), change.after) for change in answer.changes)
            and all(change.after >= allows * (1 - 1e-9) or change.after < best for change in answer.changes),
            f"changes {[(change.what, change.after) for change in answer.changes]}",
        )
    if _NONE.match(answer.sentences[-1]):
        most = max((change.after for change in answer.changes), default=0.0)
        yield Claim(
            f"{answer.sentences[-1]} ({title})", most < 1.01 * allows, f"the best gives {most} of {allows}"
        )


_BATCHED = re.compile(
    r": (?P<accesses>[a-z ]+) wait for (?P<packets>\d+) packets each, in a ring of (?P<ring>\d+)"
)
_ACCESSES = {"descriptor reads": "dma-read", "descriptor writes": "dma-write", "doorbells": "mmio-write"}
_HELD = {
    "held": re.compile(r": it holds (\d+) descriptors"),
    "ring": re.compile(r": a ring of (\d+) descriptors fills"),
    "tags": re.compile(r": all (\d+) tags are in use"),
}


def _of_nics_on_machines(random: Random, _case: int) -> Iterator[Claim]:
    """What a NIC reaches and holds on a machine, and its rate with the change that gives most."""
    frame, line_gbps = random.choice((512, 1024, 1518)), random.choice((200.0, 400.0))
    queues = {"queues.descriptors_held": random.choice((32, 64, 128)), "queues.ring_descriptors": 512}
    nic = load_nic(random.choice(_NICS)).with_(queues)
    tags = random.choice((32, 256))
    sets = {"link.tags": tags}
    frames = Frames(nic, (frame,), model.Ethernet(line_gbps=line_gbps), random.choice(("tx", "rx")))
    answer = why(frames, profile="gen5-x16", sets=sets)
    question = Question(resolve("gen5-x16", {"device": "direct-dma", **sets}).system, None, frames)
    changed = [change for change in (answer.change,) if change is not None and "nic.step" not in change.keys]
    [gbps, *after] = question.rates([{}, *(change.keys for change in changed)], FULL)
    title = f"{nic.name}, {frames.direction}, {frame} B, {line_gbps} Gb/s, {queues}, {sets}"
    match = _NIC_BINDS.match(answer.sentences[0])
    if match is None or gbps is None:
        return
    words, millions = f"{answer.sentences[0]} ({title})", 1e3 * gbps / (8 * (frame - 4))
    yield Claim(
        words,
        _close(_number(match["allows"]), gbps)
        and _close(_number(match["millions"]), millions)
        and _close(_number(match["interval"]), 1e3 / millions),
        f"{gbps} Gb/s, {millions} million packets/s",
    )
    values = {"held": queues["queues.descriptors_held"], "ring": queues["queues.ring_descriptors"], "tags": tags}
    for what, said in _HELD.items():
        if held := said.search(answer.sentences[0]):
            yield Claim(words, int(held[1]) == values[what], f"{what} {values[what]}")
    yield from claims_of_batching(answer, nic, frames.direction, title)
    for rate in after:
        most = _MOST.match(answer.sentences[-1])
        holds = most is not None and rate is not None and _close(_number(most["value"]), rate)
        percent = math.nan if rate is None else 100 * (rate / gbps - 1)
        holds = holds and most is not None and abs(_number(most["percent"]) - percent) <= 1
        yield Claim(f"{answer.sentences[-1]} ({title})", holds, f"{rate} Gb/s, {percent:+.1f} %")


def claims_of_batching(answer: Why, nic: NicProfile, direction: str, title: str) -> Iterator[Claim]:
    """The accesses that wait for packets, and the ring that they wait in."""
    if match := _BATCHED.search(answer.sentences[0]):
        steps = [step for step in nic.step if step.path == direction or direction == "both"]
        waiting = [step for step in steps if step.kind == _ACCESSES[match["accesses"]] and step.bytes != "packet"]
        packets = [max(step.batch, step.every_packets or 1) for step in waiting]
        yield Claim(
            f"{answer.sentences[0]} ({title})",
            int(match["packets"]) == max(packets, default=0) and int(match["ring"]) == nic.queues.ring_descriptors,
            f"{match['accesses']} of {packets} packets, a ring of {nic.queues.ring_descriptors}",
        )


def _of_next_bound(answer: Why, rates: Sequence[tuple[str, float]], title: str) -> Iterator[Claim]:
    ordered = sorted(rates, key=lambda pair: pair[1])
    if match := _NEXT.search(answer.sentences[1]):
        ratio = ordered[1][1] / ordered[0][1]
        shown = 1 + _number(match["percent"]) / 100 if match["percent"] else _number(match["times"])
        yield Claim(
            f"{answer.sentences[1]} ({title})",
            abs(shown - ratio) <= (0.011 if match["percent"] else 1.0),
            f"{ordered[1]} over {ordered[0]}",
        )


# `normal`.

_ALLOWS = re.compile(r"allows (?P<allows>[\d.]+) GB/s.*; (?P<value>[\d.]+) GB/s is (?P<ratio>[\d.]+) of it")


def _of_values(random: Random, _case: int) -> Iterator[Claim]:
    """What a link allows, and the share of it that a value is."""
    generation, lanes = random.randint(2, 5), random.choice((4, 8, 16))
    mps = random.choice((128, 256, 512))
    way = random.choice(("read", "write"))
    link = model.Link(generation=generation, lanes=lanes, mps_bytes=mps, mrrs_bytes=max(512, mps))
    [row] = model.bandwidth(link, [4096])
    allows = (row.read if way == "read" else row.write).gbps / 8
    given = float(f"{allows * random.uniform(0.3, 0.99):.3g}")
    answer = normal(way, f"{given}GB/s", link=f"gen{generation}x{lanes}", engine="dma", mps_bytes=mps)
    title = f"{way} {given} GB/s at {link}"
    match = _ALLOWS.search(answer.sentences[0])
    yield Claim(
        f"{answer.sentences[0]} ({title})",
        match is not None
        and _close(_number(match["allows"]), allows)
        and _close(_number(match["value"]), given)
        and abs(_number(match["ratio"]) - given / allows) <= 0.006,
        f"{allows} GB/s",
    )
    elsewhere = answer.elsewhere
    if elsewhere is not None and answer.ratio is not None:
        inside = elsewhere.low <= answer.ratio <= elsewhere.high
        holds = inside == (answer.verdict == "normal")
        yield Claim(f"{answer.verdict} ({title})", holds, f"{answer.ratio} of {elsewhere}")


# Flows of a fabric.


def _of_flows(random: Random, _case: int) -> Iterator[Claim]:
    """Edges carry no more than they can, a flow that fits gets what it asks for, and a limit is a full edge."""
    loaded = fabric.load("fabrex-u55c")
    ends = ["host1", "host2", "A", "B", "C", "D"]
    pairs = [random.sample(ends, 2) for _ in range(random.randint(1, 8))]
    flows = pd.DataFrame(
        {
            "name": [f"f{nth}" for nth in range(len(pairs))],
            "source": [source for source, _ in pairs],
            "destination": [destination for _, destination in pairs],
            "standalone_gbytes_per_s": [random.choice((None, random.uniform(0.1, 14))) for _ in pairs],
        }
    )
    found = fabric.estimate(loaded, flows, random.choice(("max-min", "ecr")))
    edges = found.edges.set_index("edge")
    for name, edge in edges.iterrows():
        over = edge["load_gbytes_per_s"] / edge["capacity_gbytes_per_s"]
        if edge["flows"]:
            yield Claim(f"edge {name} carries {over:.3f} of its capacity", over <= 1 + 1e-6, str(dict(edge)))
    for row in found.flows.to_dict("records"):
        gets = row["gbytes_per_s"] >= row["standalone_gbytes_per_s"] * (1 - 1e-6)
        yield Claim(f"flow {row['flow']} fits: {row['fits']}", bool(row["fits"]) == gets, str(row))
        if isinstance(row["limit"], str) and found.method == "max-min":
            edge = edges.loc[row["limit"]]
            full = edge["load_gbytes_per_s"] >= edge["capacity_gbytes_per_s"] * (1 - 1e-6)
            yield Claim(f"{row['limit']} limits {row['flow']}", bool(full), str(dict(edge)))


# Messages.


def _of_messages(random: Random, _case: int) -> Iterator[Claim]:
    """Descriptors win at the crossing, and stores at every smaller size."""
    profile = model.load_message_profile(random.choice(("kpio-2012", "exanic-2018")))
    link = _random_link(random, flit=False)
    found = model.crossings(profile, link=link)

    def better(payload: int, by: str) -> bool:
        [row] = model.messages(profile, [payload], link=link)
        stores, descriptors = row.write_combined, row.descriptors
        if by == "bandwidth":
            return bool(descriptors.bandwidth.gbps > stores.bandwidth.gbps)
        return bool(getattr(descriptors, f"{by}_ns") < getattr(stores, f"{by}_ns"))

    for by in ("latency", "bandwidth", "cpu"):
        crossing = getattr(found, by)
        first, always = crossing.first_bytes, crossing.from_bytes
        if first is not None:
            smaller = {random.randint(1, first - 1) for _ in range(5)} | {first - 1} if first > 1 else set()
            yield Claim(
                f"by {by}, descriptors are better at {first} B first, over {link}",
                better(first, by) and not any(better(payload, by) for payload in smaller),
                f"better at {[payload for payload in (*smaller, first) if better(payload, by)]}",
            )
        if always is not None:
            larger = {random.randint(always, 1 << 16) for _ in range(5)} | {always}
            yield Claim(
                f"by {by}, they are better from {always} B on",
                all(better(payload, by) for payload in larger) and (always == 1 or not better(always - 1, by)),
                f"worse at {[payload for payload in larger if not better(payload, by)]}",
            )


KINDS: dict[str, Callable[[Random, int], Iterator[Claim]]] = {
    "flows": _of_flows,
    "links": _of_links,
    "measured": _of_measured,
    "messages": _of_messages,
    "nics": _of_nics,
    "nics on machines": _of_nics_on_machines,
    "sizing": _of_sizing,
    "tests": _of_tests,
    "values": _of_values,
}
"""Kinds of question, and what draws one and checks its answer."""
