"""Shipped systems with some values drawn at random, and random tests on them.

Case *n* is the same on every machine. Systems with idle states are left out, because their averages settle only at
full counts.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from random import Random
from typing import Any

from pcielab import _core
from pcielab.errors import InputError
from pcielab.library import profiles
from pcielab.library.suites import single_test

BASES = ("gen5-x16", "hsw2620", "ib-000-nosp", "ib-011-nosp", "kpio-2012", "netfpga-hsw", "snb", "bdw-011-nosp")
CHANGES_MOST = 9

Draw = Callable[[Random], Any]


def _one_of(*values: Any) -> Draw:
    return lambda random: random.choice(values)


def _between(low: float, high: float) -> Draw:
    """A number whose logarithm is drawn evenly."""
    return lambda random: exp(random.uniform(log(low), log(high)))


def _whole(low: float, high: float) -> Draw:
    return lambda random: int(exp(random.uniform(log(low), log(high))))


KEYS: dict[str, Draw] = {
    "link.generation": _one_of(1, 2, 3, 4, 5, 6, 7),
    "link.lanes": _one_of(1, 2, 4, 8, 12, 16, 32),
    "link.mps_bytes": _one_of(128, 256, 512, 1024, 4096),
    "link.mrrs_bytes": _one_of(128, 256, 512, 1024, 4096),
    "link.rcb_bytes": _one_of(64, 128),
    "link.tags": _one_of(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 768, 1024),
    "link.ecrc": _one_of(True, False),
    "iommu": _one_of("off", "four-kib-pages", "super-pages"),
    "device.dma.outstanding": _whole(1, 2048),
    "device.dma.tag_order": _one_of("in-turn", "any-free"),
    "device.dma.receive_buffers": _whole(1, 2048),
    "device.dma.completion_buffer_bytes": _whole(4096, 1 << 18),
    "device.dma.completion_buffer_headers": _whole(64, 4096),
    "device.dma.busy_request_interval_ns": _between(0.5, 100),
    "device.dma.engine.write_fixed_ns": _between(0.5, 100),
    "device.dma.engine.read_fixed_ns": _between(0.5, 100),
    "device.dma.engine.segment_ns": _between(0.5, 50),
    "device.dma.engine.write_part_bytes": _one_of(64, 128, 256, 512, 1024, 4096),
    "device.dma.engine.write_gap_bytes": _one_of(0, 8, 16, 29, 47),
    "device.uplink_quantum_bytes": _one_of(1, 4, 8, 16, 32, 64),
    "device.uplink_data_quantum_bytes": _one_of(4, 8, 16, 32, 64, 128),
    "device.uplink_gap_bytes": _whole(1, 64),
    "device.uplink_dllp_bytes": _whole(1, 64),
    "host.root_complex.posted_header_credits": _one_of(1, 2, 4, 16, 64, 127, 512, 1024, "infinite"),
    "host.root_complex.posted_data_credits": _one_of(256, 400, 1024, 2048, 4096, "infinite"),
    "host.root_complex.non_posted_header_credits": _whole(1, 1024),
    "host.root_complex.credit_return_ns": _between(1, 3000),
    "host.root_complex.request_interval_ns": _between(0.5, 200),
    "host.root_complex.write_interval_ns": _between(0.5, 200),
    "host.root_complex.write_line_ns": _between(0.3, 40),
    "host.root_complex.partial_line_busy_ns": _between(0.3, 100),
    "host.root_complex.merge_partial_lines": _one_of(True, False),
    "host.root_complex.busy_read_ns": _between(50, 3000),
    "host.root_complex.busy_jitter_ns": _between(0.1, 50),
    "host.root_complex.completion_order": _one_of("fifo", "random", "random-small"),
    "host.root_complex.completion_split": _one_of("aligned-mps", "every-rcb"),
    "host.root_complex.completion_interval_ns": _between(0.5, 50),
    "host.root_complex.small_request_bytes": _one_of(0, 64, 128, 256, 512, 4096),
    "host.root_complex.downlink_quantum_bytes": _one_of(1, 4, 8, 16, 32, 64),
    "host.root_complex.downlink_stretch": lambda random: 1 + random.random(),
    "host.root_complex.downlink_dllp_bytes": _whole(1, 64),
    "host.root_complex.flight_ns": _between(1, 500),
    "host.memory.busy_miss_ns": _between(5, 500),
    "host.iommu.walk_ns": _between(20, 1000),
    "host.iommu.walkers": _one_of(1, 2, 3, 5, 8),
    "host.iommu.tlb.entries": _whole(1, 1024),
    "host.iommu.pending_walks": _whole(1, 64),
    "host.iommu.walk_region_bytes": _one_of(0, 1 << 21, 1 << 30),
}
"""Keys that are changed, and their values. Other keys cost a bandwidth test no time, or depend on each other."""


@dataclass(frozen=True)
class Case:
    """A random system, and a test on it.

    Attributes:
        number: The number of the case.
        system: The resolved system, as JSON.
        suite: A suite of one bandwidth test, as JSON.
        test: The test's parameters.
        title: The base and its changed keys.
    """

    number: int
    system: str
    suite: str
    test: dict[str, Any]
    title: str


def random_case(number: int, *, transactions: int) -> Case:
    """Case `number`, with a test of `transactions`. Every third has a link of 16 lanes, Gen4 to Gen6."""
    random = Random(number)
    while True:
        base = random.choice(BASES)
        system = json.loads(profiles.resolve(base).to_json())
        keys = random.sample(list(KEYS), random.randrange(CHANGES_MOST))
        changes = {key: KEYS[key](random) for key in keys}
        if number % 3 == 0:
            wide = {"link.generation": random.choice((4, 5, 6)), "link.lanes": 16}
            changes |= {**wide, "link.tags": random.choice((64, 256, 512, 768, 1024))}
        for key, value in changes.items():
            set_key(system, key, value)
        system["link"]["flit"] = system["link"]["generation"] >= 6
        # A walker is busy for at most the whole walk.
        iommu = system["host"]["iommu"]
        iommu["walker_busy_ns"] = min(iommu["walker_busy_ns"], iommu["walk_ns"])
        text = json.dumps(system)
        try:
            _core.System.of_json(text)
        except InputError:
            continue
        test = _random_test(random, transactions)
        if test is not None:
            title = ", ".join([base, *(f"{key} = {value}" for key, value in changes.items())])
            return Case(number, text, test.to_json(), test.tests[0]["parameters"], title)


def set_key(system: dict[str, Any], key: str, value: Any) -> None:
    """Set the value of a dotted key in nested tables."""
    *parts, last = key.split(".")
    for part in parts:
        system = system[part]
    system[last] = value


def _random_test(random: Random, transactions: int) -> Any:
    size = random.choice(
        (random.randint(1, 256), random.randint(1, 4096), random.choice((16, 64, 128, 256, 512, 1024, 2048, 4096)))
    )
    pattern = random.choice(("random", "random", "random", "sequential", "strided", "fixed"))
    offsets = {
        end: random.randrange(64) if size < 4000 and random.random() < 1 / 3 else 0
        for end in ("host_offset", "device_offset")
    }
    try:
        return single_test(
            random.choice(("bw-rd", "bw-wr", "bw-rdwr")),
            size=size,
            window=random.choice(("8K", "64K", "256K", "1M", "4M", "16M", "64M")),
            cache=random.choice(("cold", "device-thrash", "device-warm", "host-warm")),
            pattern=pattern,
            stride=random.randint(1, 64) if pattern == "strided" else 1,
            outstanding=_whole(1, 300)(random) if random.random() < 1 / 6 else None,
            transactions=transactions,
            **offsets,
        )
    except InputError:
        return None
