"""Requests of every kind, small ones, for the compiled half as native code and as WebAssembly."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import cycle, islice
from typing import Any

import pandas as pd

from pcielab import fabric, model
from pcielab.explore.cores import shipped_sides
from pcielab.library.message_profiles import load_message_profile
from pcielab.library.packet_rates import stated_rates
from pcielab.library.profiles import KINDS, names, resolve
from pcielab.library.shipped import profile_tables
from pcielab.library.suites import load_message_suite, single_test
from pcielab.work.frames import Frames

Request = tuple[str, str]
"""Name and JSON of a request."""
_SIZES = (8, 63, 64, 256, 257, 1500, 4096)
_CACHES = ("cold", "device-warm", "host-warm")
_MESSAGES_APART = 61
"""Of the suite of messages, one test in this many is taken."""
_OPERATIONS = ("bw-rd", "bw-wr", "bw-rdwr", "lat-rd", "lat-wrrd")
_CHANGES: tuple[dict[str, Any], ...] = (
    {"host.llc.ddio_ways": 4},
    {"link.ecrc": True, "link.tags": 32},
    {"host.iommu.walk_ns": 371.5, "iommu": "four-kib-pages"},
    {"link.generation": 99},
)


def requests() -> list[Request]:
    """300 requests: simulated transfers, messages, frames and flows, curves, plans, changes, closed forms."""
    parts = (
        (_transfers(), 120),
        (_frames(), 8),
        (_messages(), 20),
        (_flows(), 20),
        (_whys(), 3),
        (_questions(), 97),
        (_expanders(), 10),
        (_accesses(), 10),
        (_nics(), 6),
        (_pios(), 6),
    )
    found = [one for kind, count in parts for one in islice(kind, count)]
    assert len(found) == 300
    return [(name, json.dumps(asked)) for name, asked in found]


def _systems() -> dict[str, Any]:
    return {name: json.loads(resolve(name).to_json()) for name in names("system")}


def _transfers() -> Iterator[tuple[str, Any]]:
    operations, sizes, caches = cycle(_OPERATIONS), cycle(_SIZES), cycle(_CACHES)
    for nth, system in enumerate(cycle(_systems().values())):
        operation = next(operations)
        suite = single_test(
            operation,
            size=next(sizes),
            # A device thrash takes as long as fifty small tests.
            cache="device-thrash" if nth % 40 == 1 else next(caches),
            window=1 << (13 + nth % 4),
            transactions=1000 + nth,
            details=operation.startswith("lat") and nth % 2 == 0,
        )
        samples = "full" if nth % 4 else "adaptive"
        yield "record", {"system": system, "suite": json.loads(suite.to_json()), "samples": samples, "seed": nth}


def _frames() -> Iterator[tuple[str, Any]]:
    systems = [json.loads(resolve(name, {"device": "direct-dma"}).to_json()) for name in ("snb", "gen5-x16")]
    for nth in range(1000):
        nic = model.load_nic(("simple-nic", "niantic-dpdk", "connectx-5")[nth % 3])
        frames = Frames(nic, (64 + 97 * (nth % 7),), packets=300, direction=("tx", "rx", "both")[nth % 3])
        [test] = json.loads(frames.to_json())
        yield "frames", {"system": systems[nth % 2], "nic": frames.as_question(), "test": test, "seed": nth}


def _messages() -> Iterator[tuple[str, Any]]:
    profile = load_message_profile("kpio-2012")
    system = json.loads(resolve(profile.system).to_json())
    whole = json.loads(load_message_suite("kpio").to_json())
    for nth, test in enumerate(whole["tests"][::_MESSAGES_APART]):
        parameters = {**test["parameters"], "messages": min(test["parameters"]["messages"], 200)}
        suite = {**whole, "tests": [{**test, "parameters": parameters}]}
        yield "messages", {"system": system, "profile": profile.as_question(), "suite": suite, "seed": nth}


def _expanders() -> Iterator[tuple[str, Any]]:
    shipped = profile_tables("expander")
    for nth in range(1000):
        changes = {"link.lanes": (4, 8, 16)[nth % 3]} | ({"link.flit_bytes": 64} if nth == 7 else {})
        described = {"name": "cxl2-ddr5-5600", "changes": changes, "shipped": shipped}
        yield "expander", {"expander": described, "read_shares": [nth % 10 / 9], "loads": [0, 0.37, 0.9]}


def _nics() -> Iterator[tuple[str, Any]]:
    names = ("connectx-6-dx", "connectx-5+mprq", "niantic-dpdk", "intel-e810", "connectx-7", "no")
    for nth, name in enumerate(names):
        nic = {"name": name, "shipped": profile_tables("nic"), "changes": {"queues.pairs": nth + 1}}
        frames = {"line_gbps": (100, 400)[nth % 2], "frame_bytes": 64 + 61 * nth}
        measured = {"measured": 7.5 * (nth + 1)} if nth % 2 else {}
        link = {"lanes": 8} if nth % 3 else {}
        yield "why-nic", {"nic": nic, **frames, **measured, "link": link, "stated": stated_rates()}


def _pios() -> Iterator[tuple[str, Any]]:
    for nth, name in enumerate(cycle(profile_tables("messages")["messages"])):
        profile = {
            "name": name,
            "shipped": profile_tables("messages", *KINDS),
            "changes": {"core.write_combining_buffers": nth + 1},
        }
        link = {"generation": nth % 7 + 1} if nth % 2 else {}
        yield "pio", {"profile": profile, "payloads": "8:4K:x3", "batch": 4**nth, "link": link}


def _accesses() -> Iterator[tuple[str, Any]]:
    sides = shipped_sides()
    for nth, core in enumerate(cycle(sides["core"])):
        named = {"core": core, "bar": list(sides["bar"])[nth % len(sides["bar"])]}
        described = {kind: {"name": name, "shipped": {kind: sides[kind]}} for kind, name in named.items()}
        link = {"generation": 3 + nth % 4, "lanes": (4, 8, 16)[nth % 3], "mps_bytes": 256, "mrrs_bytes": 512}
        # The eighth core has no store in one piece: the request is refused.
        more = ["direct-store"] if nth == 7 else []
        accesses = [
            model.Access(instruction=instruction, size_bytes=3 ** (nth + 1), cores=1 + nth)  # type: ignore[arg-type]
            for instruction in ("combined-store", "uncached-load", "streaming-load", *more)
        ]
        yield "accesses", {**described, "link": link, "accesses": [asdict(access) for access in accesses]}


def _plain(flows: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON has them: None instead of NaN."""
    rows: list[dict[str, Any]] = flows.astype(object).where(flows.notna(), None).to_dict("records")
    return rows


def _flows() -> Iterator[tuple[str, Any]]:
    for nth in range(1000):
        loaded = fabric.load("fabrex-u55c")
        flows = loaded.flows(loaded.flow_sets[nth % len(loaded.flow_sets)])
        options = {"warm_up_ns": 1e4, "duration_ns": 2e4, "discipline": "per-flow", "seed": nth}
        yield "flows", {"fabric": json.loads(loaded.to_json()), "traffic": _plain(flows), "options": options}


def _whys() -> Iterator[tuple[str, Any]]:
    for operation, name, measured in (("bw-rd", "snb", None), ("lat-rd", "hsw2620", None), ("bw-rd", "snb", 41.0)):
        question = {"size": 4096, "cache": "host-warm", "measured": measured}
        system = json.loads(resolve(name).to_json())
        yield "why", {"system": system, "title": name, "question": question, "operation": operation}


def _questions() -> Iterator[tuple[str, Any]]:
    for nth, (name, system) in enumerate(cycle(_systems().items())):
        question = {
            "bandwidth": _OPERATIONS[nth % 3],
            "cache": _CACHES[nth % 3],
            "size": _SIZES[nth % len(_SIZES)],
            "window": 1 << (13 + nth % 9),
            "seed": nth,
        }
        asked = {"title": name, "question": question}
        sets = _CHANGES[nth % len(_CHANGES)]
        yield "answer", {**asked, "system": system}
        yield "change", {"system": system, "sets": sets}
        yield "plan", question
        yield "take-out", {**asked, "reference": name, "name": name, "link": system["link"], "sets": sets}
