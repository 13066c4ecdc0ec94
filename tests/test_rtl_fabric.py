"""`fabric.Runtime` on FPGA cores in RTL: bytes, times, and the fabric simulator's bandwidths."""

import random
import textwrap
from pathlib import Path

import pytest

from pcielab import InputError, fabric
from pcielab.devices import rtl
from pcielab.fabric.runtime import DeviceKind

pytestmark = pytest.mark.skipif(rtl.missing() != "", reason=rtl.missing())

QUEUES = 4
GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "profile-a-fabric.md"
SIZES = {64: 400, 256: 400, 4096: 80, 65536: 16}
"""Sizes of the guide's table, and how many requests are made of each."""
MAPPED = 0x1000_0000_0000


def ready(devices: DeviceKind = "rtl") -> fabric.Runtime:
    runtime = fabric.Runtime(fabric.load("two-cores"), devices=devices, program=rtl.program())
    for device in ("A", "B"):
        runtime.device_init(device)
        runtime.memory_init(device, "memory")
    runtime.setup_mapping("B", "memory", "host", MAPPED)
    return runtime


@pytest.mark.parametrize("size", [64, 65, 4097, 65536, 1 << 20])
def test_bytes_go_through_both_cores_and_back(size: int) -> None:
    runtime = ready()
    source, sink = (runtime.host_memory_alloc("host", size) for _ in range(2))
    near, far = (runtime.memory_alloc(device, "memory", size) for device in ("A", "B"))
    content = random.Random(size).randbytes(size)
    runtime.write_bytes("host", source, content)
    queue = runtime.add_queue("host")
    runtime.h2d(queue, "A", source, near, size)
    runtime.dev2dev_write(queue, "A", near, far, size)
    runtime.d2h(queue, "B", sink, far, size)
    runtime.run()
    assert runtime.read_bytes("host", sink, size) == content
    requests = runtime.trace().requests
    assert (requests[["host", "fabric", "device"]] > 0).all(axis=None)
    assert (requests["reached"] > requests["submitted"]).all()


@pytest.mark.parametrize("size", [64, 65, 4097, 65536])
def test_a_core_reads_the_memory_of_another(size: int) -> None:
    """The other core answers from its memory, and both keep what they hold beside it."""
    runtime = ready()
    source, sink, kept = (runtime.host_memory_alloc("host", size) for _ in range(3))
    near, far = (runtime.memory_alloc(device, "memory", size) for device in ("A", "B"))
    content = random.Random(size).randbytes(size)
    runtime.write_bytes("host", source, content)
    queue = runtime.add_queue("host", outstanding=1)
    runtime.h2d(queue, "B", source, far, size)
    runtime.dev2dev_read(queue, "A", near, far, size)
    runtime.d2h(queue, "A", sink, near, size)
    runtime.d2h(queue, "B", kept, far, size)
    runtime.run()
    assert runtime.read_bytes("host", sink, size) == content
    assert runtime.read_bytes("host", kept, size) == content
    requests = runtime.trace().requests
    assert (requests[["host", "fabric", "device"]] > 0).all(axis=None)


def test_the_processor_reads_the_memory_of_a_core() -> None:
    """By lines, each answered before the next leaves; a shorter read takes less time."""
    runtime = ready()
    size = 300
    source, sink = (runtime.host_memory_alloc("host", size) for _ in range(2))
    there = runtime.memory_alloc("B", "memory", size)
    content = random.Random(size).randbytes(size)
    runtime.write_bytes("host", source, content)
    queue = runtime.add_queue("host", outstanding=1)
    runtime.h2d(queue, "B", source, there, size)
    runtime.mmio_read(queue, "B", sink, there, size)
    runtime.mmio_read(queue, "B", sink, there, 8)
    runtime.run()
    assert runtime.read_bytes("host", sink, size) == content
    # Five lines against one.
    _, long, short = runtime.trace().requests["fabric"] + runtime.trace().requests["device"]
    assert long / short == pytest.approx(5, rel=0.1)


def bandwidth(devices: DeviceKind, primitives: tuple[str, ...], size: int, count: int, in_queues: int) -> float:
    """GB/s of the middle half of the requests, of each primitive in turns, in four queues or one."""
    runtime = ready(devices)
    here, there = (runtime.memory_alloc(device, "memory", size) for device in ("A", "B"))
    host = runtime.host_memory_alloc("host", size)
    outstanding = 64 // QUEUES if in_queues == QUEUES else 32
    queues = [runtime.add_queue("host", outstanding=outstanding) for _ in range(in_queues)]
    submit = {
        "h2d": lambda queue: runtime.h2d(queue, "A", host, here, size),
        "d2h": lambda queue: runtime.d2h(queue, "A", host, here, size),
        "d2d": lambda queue: runtime.dev2dev_write(queue, "A", here, there, size),
        "d2d-read": lambda queue: runtime.dev2dev_read(queue, "A", here, there, size),
    }
    for number in range(count):
        queue = number % in_queues
        submit[primitives[queue % len(primitives)]](queues[queue])
    runtime.run()
    requests = runtime.trace().requests
    done = (requests["submitted"] + requests["total"]).sort_values().to_numpy()
    first, last = count // 4, 3 * count // 4
    return float((last - first) * size / (done[last] - done[first]))


def table() -> list[tuple[tuple[str, ...], int, int, str]]:
    """Primitives, queues, size, and both bandwidths of each cell of the guide's table."""
    names = {"`h2d`": "h2d", "`d2h`": "d2h", "`dev2dev_write`": "d2d"}
    rows = [line.strip("| ").split(" | ") for line in GUIDE.read_text().splitlines() if line.startswith("| `")]
    rows = [row for row in rows if len(row) == 2 + len(SIZES)]
    return [
        (tuple(names[word] for word in words.split(" and ")), int(queues), size, cell)
        for words, queues, *cells in rows
        for size, cell in zip(SIZES, cells, strict=True)
    ]


def test_the_guide_has_all_primitives_sizes_and_directions() -> None:
    alone = {(primitive,) for primitive in ("h2d", "d2h", "d2d")}
    expected = [
        *((one, 4) for one in alone),
        *((one, 1) for one in alone),
        *((("h2d", two), 4) for two in ("d2h", "d2d")),
    ]
    assert sorted({(primitives, queues) for primitives, queues, *_ in table()}) == sorted(expected)
    assert len(table()) == len(expected) * len(SIZES)


@pytest.mark.parametrize(
    ("primitives", "in_queues", "size", "cell"),
    table(),
    ids=lambda given: "+".join(given) if isinstance(given, tuple) else str(given),
)
def test_bandwidth_is_that_of_the_fabric_simulator(
    primitives: tuple[str, ...], in_queues: int, size: int, cell: str
) -> None:
    count = SIZES[size]
    real, simulated = (bandwidth(devices, primitives, size, count, in_queues) for devices in ("rtl", "simulated"))
    assert cell == f"{real:.2f} / {simulated:.2f}"
    # Beats of headers and notices fill the cores' stream there; the simulator counts data alone.
    apart = 0.09 if len(primitives) == 2 and size == 256 else 0.03
    assert real == pytest.approx(simulated, rel=apart)


def test_reads_of_a_core_follow_each_other() -> None:
    """Its memory gives a beat each clock, also from one read to the next."""
    real, simulated = (bandwidth(devices, ("d2d-read",), 4096, 80, QUEUES) for devices in ("rtl", "simulated"))
    assert real == pytest.approx(simulated, rel=0.01)


def test_a_read_takes_as_much_longer_as_the_memory_of_the_host(tmp_path: Path) -> None:
    """Cores run in windows of time: what comes to them must come at its time, not at a window's end."""
    shipped = (Path(__file__).parents[1] / "profiles" / "fabrics" / "two-cores.toml").read_text()
    totals_ns = []
    for memory_ns in (100.0, 120.0, 140.0, 180.0):
        changed = tmp_path / f"{memory_ns}.toml"
        changed.write_text(shipped.replace("memory_read_ns = 100.0", f"memory_read_ns = {memory_ns}"))
        runtime = fabric.Runtime(fabric.load(changed), devices="rtl", program=rtl.program())
        runtime.device_init("A")
        runtime.memory_init("A", "memory")
        host, here = runtime.host_memory_alloc("host", 64), runtime.memory_alloc("A", "memory", 64)
        runtime.h2d(runtime.add_queue("host", outstanding=1), "A", host, here, 64)
        runtime.run()
        totals_ns.append(float(runtime.trace().requests["total"].iloc[0]))
    # The notifier looks for ended commands every fourth clock.
    step_ns = 16.0
    assert [total - totals_ns[0] for total in totals_ns] == pytest.approx([0.0, 20.0, 40.0, 80.0], abs=step_ns)


def test_the_guide_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    section = GUIDE.read_text().partition("## Run it on FPGA cores")[2]
    lines = [line for line in section.splitlines() if line.startswith("    ")]
    monkeypatch.setenv(rtl.PROGRAM, str(rtl.program()))
    names = {"fabric": fabric}
    exec(textwrap.dedent("\n".join(lines)), names)
    runtime = names["runtime"]
    assert isinstance(runtime, fabric.Runtime)
    assert len(runtime.trace().requests) == 100


def test_what_a_core_cannot_do_is_refused() -> None:
    runtime = ready()
    host = runtime.host_memory_alloc("host", 256)
    here = runtime.memory_alloc("A", "memory", 256)
    queues = [runtime.add_queue("host") for _ in range(QUEUES + 1)]
    with pytest.raises(InputError, match="use mmio_read, h2d"):
        runtime.mmio_write(queues[0], "B", host, runtime.memory_alloc("B", "memory", 64), 64)
    with pytest.raises(InputError, match="multiples of 64"):
        runtime.h2d(queues[0], "A", host + 4, here, 64)
    with pytest.raises(InputError, match="by commands only"):
        runtime.read_bytes("A", here, 1)
    for queue in queues[:QUEUES]:
        runtime.h2d(queue, "A", host, here, 64)
    with pytest.raises(InputError, match="4 command queues"):
        runtime.h2d(queues[QUEUES], "A", host, here, 64)
    runtime.run()
    assert runtime.unfinished == 0


def test_unknown_devices_programs_and_fabrics_are_refused() -> None:
    fabrics = fabric.load("two-cores"), fabric.load("fabrex-u55c")
    with pytest.raises(InputError, match="simulated or rtl"):
        fabric.Runtime(fabrics[0], devices="board")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="/nowhere"):
        fabric.Runtime(fabrics[0], devices="rtl", program=rtl.program().with_name("x") / "/nowhere")
    with pytest.raises(InputError, match="2 hosts"):
        fabric.Runtime(fabrics[1], devices="rtl", program=rtl.program())
