"""Every entry point of the compiled half, with what ends it at Ctrl-C.

A `Long` one asks for signals while it works: its call here would take from seconds to days. A `Short` one is
bounded by a limit on its input, or by what Python already holds in memory; where the bound is a limit, `worst` is
a call at it. Names are those of the stubs: functions, and methods and properties with their class.
"""

import json
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from made_machine import server, write
from pcielab import _core, fabric, model
from pcielab.devices import HostOptions
from pcielab.library.message_profiles import load_message_profile
from pcielab.library.nics import load_nic
from pcielab.library.profiles import resolve
from pcielab.library.suites import load_suite, single_test

Call = Callable[[], object]
Prepare = Callable[[Path], Call]
"""Prepares a call in a folder."""


@dataclass(frozen=True)
class Long:
    """A function that asks for signals.

    Attributes:
        call: Prepares a call that goes on for long.
        waits: Whether it waits without using the processor.
        repeats: Whether it is called again and again, as one call on the largest input that a test makes is short.
    """

    call: Prepare
    waits: bool = False
    repeats: bool = False


@dataclass(frozen=True)
class Short:
    """A function that ends soon by itself.

    Attributes:
        bound: Why.
        worst: Prepares a call at the limit of its input; None where there is nothing to try.
    """

    bound: str
    worst: Prepare | None = None


ENDLESS = (1 << 32) - 1
"""Transactions of a test: hours."""
SYSTEM = resolve("snb")
HANDLE = _core.System.of_json(SYSTEM.to_json())
TESTBED = fabric.load("fabrex-u55c")
BANDWIDTH = single_test("bw-rd", transactions=ENDLESS)
ONE = json.loads(BANDWIDTH.to_json())["tests"][0]["parameters"]


def of(function: Callable[..., object], *arguments: Any, **named: Any) -> Prepare:
    """A call that needs no preparation."""
    return lambda _folder: lambda: function(*arguments, **named)


def simulated(samples: str = "full") -> _core.Backend:
    return _core.Backend.simulated(HANDLE, samples=samples, engine="fast")


def many_rows(folder: Path, rows: int = 300_000) -> Path:
    """A store with that many numbers in each table, 30 MB."""
    path = folder / "many.db"
    if not path.exists():
        with _core.StoreWriter.create(path, '{"origin": "measured"}') as writer:
            writer.write_test(record(rows))
    return path


def record(rows: int) -> str:
    """A test with a histogram and a series of that many rows."""
    bins = [[number, 1] for number in range(rows)]
    found = {
        "id": 0,
        "family": "f",
        "name": "LAT_DMA_RD",
        "parameters": json.dumps(ONE, sort_keys=True, separators=(",", ":")),
        "status": "ok",
        "message": None,
        "scalars": [],
        "distributions": [{"metric": "latency", "tick": "1", "bins": bins}],
        "series": [{"metric": "latency_ticks", "values": [1.0] * rows}],
    }
    return json.dumps(found)


def written(folder: Path) -> Call:
    text = record(2_000_000)
    writer = _core.StoreWriter.create(folder / "written.db", '{"origin": "measured"}', overwrite=True)
    return lambda: writer.write_test(text)


def of_contents(use: Callable[[_core.StoreContents], object]) -> Prepare:
    """A call that reads the contents of a store again and again."""

    def prepare(folder: Path) -> Call:
        contents = _core.read_store(many_rows(folder))
        return lambda: use(contents)

    return prepare


def runtime(_folder: Path) -> fabric.Runtime:
    """A runtime with more in flight than it moves in an hour."""
    made = fabric.Runtime(TESTBED, outstanding=64)
    made.device_init("A")
    made.memory_init("A", "hbm")
    made.setup_mapping("A", "hbm", "host1", 0x1000_0000_0000)
    size = 1 << 30
    host, device = made.host_memory_alloc("host1", size), made.memory_alloc("A", "hbm", size)
    queue = made.add_queue("host1", outstanding=8)
    for _ in range(8):
        made.h2d(queue, "A", host, device, size)
    return made


def flows(count: int) -> tuple[_core.Fabric, bytes, bytes, bytes, list[str]]:
    """Flows between the ends of the testbed, as the estimators take them."""
    ends = [TESTBED.node_names.index(name) for name in ("host1", "host2", "A", "B", "C", "D")]
    pairs = np.array([(one, other) for one in ends for other in ends if one != other], dtype=np.uint32)
    chosen = pairs[np.arange(count) % len(pairs)]
    alone = np.full(count, np.inf) if count else np.empty(0)
    sources, destinations = chosen[:, 0].tobytes(), chosen[:, 1].tobytes()
    return TESTBED.handle, sources, destinations, alone.tobytes(), [f"F{number}" for number in range(count)]


def traffic(count: int) -> dict[str, list[Any]]:
    """Streams for the simulator."""
    names = [f"F{number}" for number in range(count)]
    return {"name": names, "source": ["host1"] * count, "destination": ["A"] * count}


def many_tests() -> str:
    """A suite of as many tests as JSON of its longest length holds."""
    test = {"family": "f", "name": "n", "parameters": ONE}
    count = (8 << 20) // (len(json.dumps(test)) + 2) - 10
    return json.dumps({"name": "many", "title": "many", "tests": [test] * count})


def wide_fabric() -> str:
    """A fabric of as many devices as JSON of its longest length holds."""
    content = json.loads(TESTBED.to_json())
    node, link = content["nodes"][-1], content["links"][-1]
    node["device"]["memories"] = []
    count = (8 << 20) // (len(json.dumps([node, link])) + 20)
    content["nodes"] += [node | {"name": f"n{number}"} for number in range(count)]
    content["links"] += [link | {"lower": f"n{number}"} for number in range(count)]
    return json.dumps(content)


def fabric_options() -> str:
    """Options of a simulation of a day."""
    times = {"warm_up_ns": None, "duration_ns": 8.64e13}
    return json.dumps(times | {"discipline": "per-destination", "seed": 1})


def estimated(function: Callable[..., object]) -> Prepare:
    """An estimator on a million flows."""

    def prepare(_folder: Path) -> Call:
        asked = flows(1_000_000)
        limit = {"limit": 1 << 62} if function is _core.FabricInfluences else {}
        return lambda: function(*asked, "max-min", **limit)

    return prepare


def next_influence(_folder: Path) -> Call:
    found = _core.FabricInfluences(*flows(1_000_000), "max-min", 1 << 62)
    return lambda: next(found)


def played(folder: Path) -> Call:
    text = "# pcielab trace 1\n" + "0 read 0 4194304\n" * 100_000
    return lambda: _core.trace_play(HANDLE, text, "cold", 0, 1, None, 1 << 62)


def capture(packets: int) -> bytes:
    """A capture in pcap-ng of that many packets of TLPs: reads of 64 B."""
    header = struct.pack("<IIIHHQI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, (1 << 64) - 1, 28)
    interface = struct.pack("<IIHHII", 1, 20, 125, 0, 0, 20)
    read = bytes.fromhex("00000010 0100 00 ff 00001000".replace(" ", ""))
    packet = struct.pack("<IIIIIII", 6, 32 + len(read), 0, 0, 1, len(read), len(read)) + read
    packet += struct.pack("<I", 32 + len(read))
    return header + interface + packet * packets


def converted(_folder: Path) -> Call:
    content = capture(4_000_000)
    return lambda: _core.trace_convert(content, 0, None, None, "")


def long_capture(folder: Path) -> Path:
    """A capture of reads that takes seconds to explain."""
    path = folder / "reads.pcapng"
    path.write_bytes(capture(2_000_000))
    return path


def explained(folder: Path) -> Call:
    path = long_capture(folder)
    return lambda: _core.capture_explain(path, "{}", "{}")


def converted_again(folder: Path) -> Call:
    path = long_capture(folder)
    return lambda: _core.capture_convert(path, "{}", "list", lambda _piece: None)


def listed(folder: Path) -> Call:
    path = long_capture(folder)
    return lambda: _core.capture_list(path, "{}", "{}", lambda _rows: None)


def made_trace(folder: Path) -> Call:
    path = long_capture(folder)

    def again() -> None:
        while True:
            _core.capture_trace(path, "{}", merged=True, timed=False, buffer_bytes=1 << 22)

    return again


def made_capture(_folder: Path) -> Call:
    text = "# pcielab trace 1\n" + "0 read 0 4194304\n" * 1_000
    return lambda: _core.capture_record(
        HANDLE, text, "list", with_credits=False, cache="cold", window_bytes=0, seed=1
    )


def coupled(folder: Path) -> Call:
    """An adapter that waits for its device."""
    path = folder / "device"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()

    def call() -> None:
        how = {"cache": "cold", "window_bytes": 0, "seed": 1, "latency_ps": 500_000, "patience_s": 86_400.0}
        with listening:
            _core.simbricks(HANDLE, [path], [], **how)  # type: ignore[arg-type]

    return call


def asked_page(name: str, **words: Any) -> Prepare:
    return of(_core.ask_page, name, json.dumps({"system": json.loads(SYSTEM.to_json()), "seed": 1, **words}))


def real_host(use: Callable[[_core.RealHost], object]) -> Prepare:
    """A call that works on a buffer of 16 MiB again and again."""

    def prepare(_folder: Path) -> Call:
        host = _core.RealHost(HostOptions(buffer_bytes=16 << 20).model_dump_json())
        host.begin(16 << 20, _core.Stop())
        return lambda: use(host)

    return prepare


def predicted(_folder: Path) -> Call:
    suite = load_suite("paper")
    rows = [*range(len(suite.tests))]
    predictor = _core.Predictor(suite.handle, rows, seed=1, jobs=2)
    wanted = [rows] * 50
    effort = json.dumps({"latency_samples": 1 << 20, "bandwidth_transactions": 1 << 20})
    return lambda: predictor.predict([HANDLE] * 50, wanted, effort=effort, progress=lambda _done, _total: None)


def searched_nic(_folder: Path) -> Call:
    line = {"line_gbps": 400.0, "vlan": False, "gap": "standard"}
    counts = {"warm_up_packets": 200_000, "packets": 1_000_000_000, "nics": 1}
    traffic = {"ethernet": line, "frame_bytes": 64, "direction": "both", **counts}
    nic = load_nic("connectx-7").handle
    asked = json.dumps({"traffic": traffic})
    return lambda: _core.why_nic(nic, HANDLE, asked, lambda _done, _total: None)


def searched_store(_folder: Path) -> Call:
    row = {key: ONE[key] for key in ("operation", "size_bytes", "window_bytes", "cache", "outstanding")}
    rows = [{"test": 0, "name": "one", **row, "value_gbps": 1.0, "bounds": [("tags", 2.0)], "reasons": []}]
    asked = {"title": "", "origin": "simulated", "rows": rows, "group": [0], "focus": [0], "tests": [ONE] * 1_000}
    return lambda: _core.why_store(HANDLE, json.dumps(asked), lambda _done, _total: None)


def checked_contract(_folder: Path) -> Call:
    latency, bandwidth = (
        json.loads(single_test(name, transactions=50_000_000).to_json())["tests"][0]["parameters"]
        for name in ("lat-rd", "bw-rd")
    )
    trial = json.dumps({"latency": latency, "bandwidth": bandwidth})
    return lambda: simulated().check_contract(trial)


def run_whole(folder: Path) -> Call:
    options = json.dumps(
        {"seed": 1, "samples": "full", "jobs": 1, "resume": False, "repeat_damaged": False, "overwrite": True}
    )
    manifest = json.dumps({"title": "t", "version": "0", "origin": "simulated"})
    return lambda: _core.run(
        folder / "run.db", simulated(), BANDWIDTH.to_json(), options, manifest, lambda *_state: None
    )


def lspci_text() -> str:
    """A text of lspci of 7,000 functions, 22 MB."""
    return (Path(__file__).parent / "lspci_texts" / "pciutils-3.9.txt").read_text() * 500


def large_machine() -> str:
    """A machine of 8,192 functions: ports, each with a device at half its speed."""
    machine = []
    for domain in range(4096):
        port = {
            "slot": f"{domain:04x}:00:01.0",
            "title": "PCI bridge: Port",
            "kind": "root-port",
            "secondary_bus": 1,
        }
        device = {"slot": f"{domain:04x}:01:00.0", "title": "Ethernet controller: NIC", "kind": "endpoint"}
        link = {"max_speed_gtps": 16.0, "max_lanes": 16, "speed_gtps": 8.0, "lanes": 16}
        machine += [port | {"link": link}, device | {"link": link}]
    return json.dumps({"source": "a", "functions": machine})


def modelled(function: Callable[..., str], ask: Call) -> Prepare:
    """The function of the model on the question that a function of Python asks it."""

    def prepare(_folder: Path) -> Call:
        asked: list[object] = []

        def note(*question: object) -> str:
            asked.extend(question)
            raise _NotedError

        name = function.__name__
        setattr(_core, name, note)
        try:
            ask()
        except _NotedError:
            pass
        finally:
            setattr(_core, name, function)
        return lambda: function(*asked)

    return prepare


class _NotedError(Exception):
    """The question is known."""


LINK = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
MESSAGES = load_message_profile("kpio-2012")
ENGINE = model.load_engine("gpu")
EXPANDER = model.load_expander("cxl2-ddr5-5600")
CORE, BAR = model.load_core("skylake-2017"), model.load_bar("gpu")
ACCESSES = [model.Access(instruction="combined-store", size_bytes=4096)] * 100_000
LONG_ACCESS = model.Access(instruction="combined-store", size_bytes=64 << 20)
SHARES = [step / 100_000 for step in range(100_000)]
_DESCRIBED = ("Nic", "Engine", "Expander", "Core", "Bar", "Messages")
_METHODS = ("with_", "keys", "json", "values", "get", "source")
SIZES = [64] * 100_000
"""As many rows as an answer may have."""


_HELD = Short("what the object holds, copied once")
_PARSED = "JSON of 8 MiB at most, whose parsing asks for signals"
_TABLE = "nested to 64 levels at most; otherwise in proportion to a table that Python holds"
_PATH = Short("looks at one path, or puts one file in place")
_ROWS = "100,000 rows at most"
_FUNCTIONS = "8,192 functions at most"
_WRITTEN = Short("copies bytes to a file that Python holds already")
_RUNTIME = Short("changes an entry of a table of what a program has set up, or copies bytes that it holds")
_PORT = Short("one TLP, on a machine with a few hundred in flight at most")
_OPENED = Short(f"opens no device yet: {_PARSED}")
_KERNEL = Short("reads a few files of the kernel for each process and device, or waits for the kernel")
ENTRY_POINTS: dict[str, Long | Short] = {
    "Backend.check": Long(lambda _folder: partial(simulated().check, many_tests(), seed=1), repeats=True),
    "Backend.check_contract": Long(checked_contract),
    **dict.fromkeys(
        (
            "Backend.simulated", "Backend.rtl", "Backend.cpu", "Backend.nvme", "Backend.e1000e", "Backend.fpga",
            "Backend.pio", "Backend.messages", "Backend.nic", "Backend.expander", "Backend.experiments",
            "Backend.of_python", "Backend.traced", "Backend.with_faults",
        ),
        _OPENED,
    ),
    **dict.fromkeys(("Backend.takes", "Backend.kind", "Backend.origin", "Backend.jobs_most"), _HELD),
    "RealHost": Short("maps memory that the kernel clears: 4 GiB at most"),
    **dict.fromkeys(("RealHost.address", "RealHost.buffer_bytes", "RealHost.facts", "RealHost.begin"), _HELD),
    "RealHost.lock": _KERNEL,
    "RealHost.conditions": _KERNEL,
    "RealHost.thrash": Long(real_host(_core.RealHost.thrash), repeats=True),
    "RealHost.warm": Long(real_host(lambda host: host.warm(16 << 20)), repeats=True),
    "Stop": _HELD,
    "Stop.request": _HELD,
    "Stop.is_requested": _HELD,
    "Stop.wait": Long(of(_core.Stop().wait, 86_400.0), waits=True),
    "FabricInfluences": Short("an estimate of a million flows at most", estimated(_core.FabricInfluences)),
    "FabricInfluences.__next__": Short("an estimate of a million flows at most", next_influence),
    **dict.fromkeys(
        (
            "FabricRun.bandwidth", "FabricRun.in_flight", "FabricRun.load", "FabricRun.requests",
            "FabricRun.tlp_hops", "FabricRun.warm_up_ns", "FabricRun.counted_ns", "FabricTrace.request",
            "FabricTrace.primitive", "FabricTrace.queue", "FabricTrace.host", "FabricTrace.device",
            "FabricTrace.peer", "FabricTrace.size_bytes", "FabricTrace.times", "FabricWaiting.queue",
            "FabricWaiting.host", "FabricWaiting.device", "FabricWaiting.primitive", "FabricWaiting.size_bytes",
            "FabricWaiting.submitted_ns", "FabricWaiting.age_ns", "FabricWaiting.in_flight",
            "FabricShares.standalone", "FabricShares.bandwidth", "FabricShares.limit", "FabricShares.load",
            "FabricShares.crossing", "FabricRuntime.now_ns", "FabricRuntime.unfinished", "FabricRuntime.trace",
        ),
        _HELD,
    ),
    "FabricRuntime": _OPENED,
    **dict.fromkeys(
        (
            "FabricRuntime.device_init", "FabricRuntime.map_bar", "FabricRuntime.memory_init",
            "FabricRuntime.setup_mapping", "FabricRuntime.memory_alloc", "FabricRuntime.memory_free",
            "FabricRuntime.memory_address", "FabricRuntime.device_address", "FabricRuntime.write_bytes",
            "FabricRuntime.read_bytes", "FabricRuntime.host_memory_alloc", "FabricRuntime.host_memory_free",
            "FabricRuntime.add_queue", "FabricRuntime.submit",
        ),
        _RUNTIME,
    ),
    "FabricRuntime.run": Long(lambda folder: runtime(folder).run),
    "FabricRuntime.run_until": Long(lambda folder: partial(runtime(folder).run_until, 1e12)),
    "Predictor": _OPENED,
    "Predictor.predict": Long(predicted),
    "StoreWriter.create": _PATH,
    "StoreWriter.write_test": Long(written),
    "StoreWriter.attach": _WRITTEN,
    "StoreWriter.close": _PATH,
    "StoreContents.manifest": _HELD,
    "StoreContents.kind": _HELD,
    "StoreContents.tests": Long(of_contents(lambda one: one.tests()), repeats=True),
    "StoreContents.scalars": Long(of_contents(lambda one: one.scalars()), repeats=True),
    "StoreContents.distribution": Long(of_contents(lambda one: one.distribution(0, "latency")), repeats=True),
    "StoreContents.series": Long(of_contents(lambda one: one.series(0, "latency_ticks")), repeats=True),
    **dict.fromkeys(("StoreContents.attachments", "StoreContents.trace", "StoreContents.capture"), _HELD),
    "StoreContents.records": Long(of_contents(lambda one: one.records()), repeats=True),
    **dict.fromkeys(("check_file", "check_folder", "check_name", "check_new_store"), _PATH),
    **dict.fromkeys(("System.of_json", "System.recorded", "check_test"), Short(_PARSED)),
    **dict.fromkeys(("System.read", "System.read_text", "read_profile", "complete_part"), Short(_TABLE)),
    **dict.fromkeys(
        (
            *("System.with_", "System.json", "System.values", "System.get", "System.source", "System.described"),
            "System.capacities",
            *("System.changes", "link_changes"),
        ),
        Short("some two hundred keys of a system"),
    ),
    "System.each_with": Long(of(HANDLE.each_with, [{"host.iommu.walk_ns": 100.0}] * 100_000)),
    **dict.fromkeys(
        (
            *("Fabric.schema", "Fabric.preset_schema", "Suite.schema", "System.keys", "System.schema"),
            *("profile_schema", "schemas", "store_metrics"),
        ),
        Short("a table of the program"),
    ),
    "Suite.of_json": Long(lambda _folder: partial(_core.Suite.of_json, "transfers", many_tests()), repeats=True),
    **dict.fromkeys(
        (
            *("Suite.read", "Suite.name", "Suite.title", "Suite.fabric", "Suite.families", "Suite.only"),
            *("Suite.tests", "Suite.json", "Suite.provenance"),
        ),
        Short("100,000 tests at most"),
    ),
    "damaged_tests": Long(lambda folder: partial(_core.damaged_tests, many_rows(folder))),
    "read_store": Long(lambda folder: partial(_core.read_store, many_rows(folder))),
    "read_manifest": Long(lambda folder: partial(_core.read_manifest, many_rows(folder)), repeats=True),
    "Fabric.of_json": Long(lambda _folder: partial(_core.Fabric.of_json, wide_fabric()), repeats=True),
    **dict.fromkeys(
        (
            *("Fabric.read", "Fabric.name", "Fabric.json", "Fabric.get", "Fabric.provenance", "Fabric.flow_sets"),
            *("Fabric.default_set", "Fabric.flows", "Fabric.with_", "Fabric.keys", "Fabric.changes"),
            *("Fabric.values", "Fabric.edges", "Fabric.without_devices", "Fabric.moved"),
        ),
        Short("50,000 nodes or flows at most, which a file of 4 MiB holds"),
    ),
    **dict.fromkeys(("Fabric.check_ends", "flow_columns"), Short("in proportion to columns that Python holds")),
    "fabric_check_traffic": Long(of(_core.fabric_check_traffic, TESTBED.handle, traffic(100_000))),
    **dict.fromkeys(
        ("edge_shares", "equal_edge_share"), Short("4,096 flows of a question at most, each over a few edges")
    ),
    **dict.fromkeys(("described_machine", "expanded_names"), Short("4,096 tables, each of 1,000 names at most")),
    "fabric_estimate": Short("a million flows at most", estimated(_core.fabric_estimate)),
    "fabric_rounds": Long(lambda _folder: partial(_core.fabric_rounds, *flows(150_000)), repeats=True),
    "fabric_simulate": Long(of(_core.fabric_simulate, TESTBED.handle, traffic(4), fabric_options())),
    "model_bandwidth": Long(modelled(_core.model_bandwidth, lambda: model.bandwidth(LINK, SIZES))),
    "model_nic": Long(modelled(_core.model_nic, lambda: model.nic(load_nic("niantic-dpdk"), LINK, SIZES))),
    "model_sizing": Short(_ROWS, modelled(_core.model_sizing, lambda: model.sizing(SIZES, [500.0]))),
    "model_link_sizing": Short(
        _ROWS, modelled(_core.model_link_sizing, lambda: model.link_sizing(LINK, SIZES, [500.0]))
    ),
    "model_messages": Long(modelled(_core.model_messages, lambda: model.messages(MESSAGES, SIZES))),
    "model_loopback": Short(
        _ROWS, modelled(_core.model_loopback, lambda: model.loopback(MESSAGES, SIZES))
    ),
    "model_message_crossings": Short(
        "one row", modelled(_core.model_message_crossings, lambda: model.crossings(MESSAGES))
    ),
    "model_host": Short("4,096 numbers of cores at most"),
    "model_engine": Long(modelled(_core.model_engine, lambda: model.engine(ENGINE, SIZES))),
    "model_expander": Short(_ROWS, modelled(_core.model_expander, lambda: model.expander(EXPANDER, SHARES))),
    "model_interleaved": Short(
        _ROWS, modelled(_core.model_interleaved, lambda: model.interleaved([(EXPANDER, 1.0)], SHARES))
    ),
    "model_mmio": Short(_ROWS, modelled(_core.model_mmio, lambda: model.mmio(CORE, BAR, ACCESSES, link=LINK))),
    "simulate_mmio": Long(lambda: model.simulated_mmio(CORE, BAR, [LONG_ACCESS] * 50, link=LINK)),
    **dict.fromkeys(
        (
            *("Core.of_json", "Bar.of_json"),
            *("Nic.of_json", "Nic.recorded", "Engine.of_json", "Expander.of_json"),
            *("Messages.of_json", "Messages.recorded"),
        ),
        Short(_PARSED),
    ),
    **dict.fromkeys((f"{kind}.read" for kind in _DESCRIBED), Short(_TABLE)),
    **dict.fromkeys(
        [
            *(f"{kind}.{name}" for kind in _DESCRIBED for name in _METHODS),
            *("Nic.split", "Nic.with_switches", "Nic.for_frames", "Nic.limits", "Nic.changes", "Nic.intervals"),
            *("Nic.direction", "Nic.warm_up_packets", "Messages.with_batch", "Messages.times_of_older_link"),
            "why_nic_on_link",
        ],
        Short("the steps or keys of one file"),
    ),
    **dict.fromkeys(
        ("alike", "closest", "suggestion", "with_most_parts", "with_parts"),
        Short("a word of 80 letters at most, compared with 10,000 others at most"),
    ),
    **dict.fromkeys(("read_size", "read_whole", "read_number", "read_quantity"), Short("24 digits at most")),
    **dict.fromkeys(("read_sizes", "read_counts"), Short("100,000 sizes at most")),
    **dict.fromkeys(
        ("read_link", "read_width", "read_tunnel", "Width", "raw_gbps", "generation_of"), Short("one link")
    ),
    **dict.fromkeys(
        [
            *(f"Width.{part}" for part in ("generation", "lanes", "links", "raw_gbps")),
            *(f"Tunnel.{part}" for part in ("word", "raw_gbps", "payload_bytes")),
        ],
        Short("a part of one link"),
    ),
    **dict.fromkeys(
        ("ethernet_need", "ethernet_suiting", "low_share"), Short("in proportion to a list that Python holds")
    ),
    "replaced": Short(_TABLE),
    "typed": Short("one text"),
    "typed_changes": Short("one change for each text"),
    "nearest_rank": Short("one division"),
    "ethernet_link": Short("one line rate"),
    "check_measured": Short("one value"),
    **dict.fromkeys(
        ("stated_packets", "packets_above_stated"), Short("a name beside some twenty statements of vendors")
    ),
    "remedy": Short("one word"),
    "ask_page": Long(asked_page("record", suite=json.loads(BANDWIDTH.to_json()), samples="full")),
    "address_offsets": Long(of(_core.address_offsets, json.dumps(ONE), 1, 0, 0, 1 << 26)),
    "run": Long(run_whole),
    "run_alone": Long(of(_core.run_alone, simulated(), BANDWIDTH.to_json(), seed=1, samples="full")),
    **dict.fromkeys(("list_devices", "survey_device", "bind_device", "release_device"), _KERNEL),
    "test_bounds": Long(of(_core.test_bounds, HANDLE, json.dumps([ONE] * 25_000)), repeats=True),
    "read_machine": Long(lambda _folder: partial(_core.read_machine, lspci_text(), "a")),
    "read_sysfs": Long(
        lambda folder: partial(_core.read_sysfs, write(folder / "machine", server())), repeats=True
    ),
    "doctor_rules": Short(_TABLE),
    **dict.fromkeys(
        ("describe_examination", "describe_finding", "draw_machine", "machine_branches", "machine_changes"),
        Short("8,192 functions at most, which one pass reads"),
    ),
    "saved_machine": Short(_FUNCTIONS, lambda _folder: partial(_core.saved_machine, large_machine(), "0")),
    "examine_machine": Short(
        _FUNCTIONS, lambda _folder: partial(_core.examine_machine, large_machine(), "[]", None)
    ),
    "machine_topology": Short(_FUNCTIONS, lambda _folder: partial(_core.machine_topology, large_machine())),
    "why_test": Long(
        of(_core.why_test, HANDLE, json.dumps({"title": "", "test": ONE}), lambda _done, _total: None),
        repeats=True,
    ),
    "why_store": Long(searched_store),
    "why_words": Short("flows and tests that Python holds"),
    **dict.fromkeys(("explained_differences", "why_two"), Short("two runs' tests that Python holds")),
    **dict.fromkeys(("reasons_of_test", "test_in_words"), Short("the parameters of one test")),
    **dict.fromkeys(("keys_of_bounds", "borrowed_sentences"), Short("some two hundred keys of a system")),
    "why_nic": Long(searched_nic),
    "compressed": Short("packs bytes that Python holds already, 2 MB in a tenth of a second"),
    "write_file": _WRITTEN,
    "write_folder": _WRITTEN,
    "trace_record": Long(
        of(_core.trace_record, HANDLE, json.dumps(ONE | {"transactions": 1_000_000}), 1, "")
    ),
    "trace_read": Long(
        lambda _folder: partial(_core.trace_read, "# pcielab trace 1\n" + "0 read 0 64\n" * 9_000_000)
    ),
    "trace_play": Long(played),
    "trace_convert": Long(converted),
    "capture_convert": Long(converted_again),
    "capture_explain": Long(explained),
    "capture_list": Long(listed),
    "capture_trace": Long(made_trace),
    "capture_record": Long(made_capture),
    "simbricks": Long(coupled, waits=True),
    "HostPort": _OPENED,
    **dict.fromkeys(
        (
            "HostPort.address", "HostPort.buffer_bytes", "HostPort.flight_ps", "HostPort.next_ps",
            "HostPort.credits", "HostPort.uplink_free_ps",
            "HostPort.has_room", "HostPort.submit", "HostPort.give_up", "HostPort.advance", "HostPort.take",
        ),
        _PORT,
    ),
}  # fmt: skip
