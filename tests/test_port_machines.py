"""Machines of several devices behind the C library: peers behind a switch, the FPGA core, and hooks of simulators.

`port_machines/peers.c` has two devices, one with an engine as the fabric simulator's. Its transfers must take what
that simulator gives them. Hooks of a storage and of a collective simulator are examples of the library, each with
a stub of its simulator. `make port-contract` takes every size.
"""

import functools
import subprocess
from pathlib import Path
from shutil import which

import pandas as pd
import pytest

from pcielab import fabric
from pcielab.devices import rtl

ROOT = Path(__file__).parents[1]
CRATE = ROOT / "crates" / "pcie-port"
LIBRARY = ROOT / "target" / "debug" / "libpcie_port.a"
FABRIC = ROOT / "profiles" / "fabrics" / "two-cores.toml"
LINKED = ("-Wl,--strip-debug", LIBRARY, "-lpthread", "-ldl", "-lm")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{CRATE / 'include'}")
WITHIN = 0.01
"""How far rates and times may be from the fabric simulator's."""
COUNTS = {64: 400, 256: 400, 1024: 200, 4096: 200, 65536: 40, 1 << 20: 8}
"""Sizes of transfers, and how many of each are made."""
QUICK = {64, 4096}

pytestmark = pytest.mark.skipif(
    not LIBRARY.exists() or which("cc") is None,
    reason=f"needs cc and the library: make {LIBRARY.relative_to(ROOT)}",
)
needs_core = pytest.mark.skipif(rtl.missing() != "" or which("c++") is None, reason=f"needs c++; {rtl.missing()}")


def sizes(quick: set[int]) -> list[object]:
    return [pytest.param(size, marks=() if size in quick else pytest.mark.slow) for size in COUNTS]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs in C."""
    folder = tmp_path_factory.mktemp("machines")
    for source in (ROOT / "tests" / "port_machines" / "peers.c", *CRATE.glob("examples/*_hook.c")):
        compiled("cc", "-std=c99", "-O1", source, *LINKED, "-o", folder / source.stem)
    return folder


@functools.cache
def core_program(folder: Path) -> Path:
    """The peers, one of which is the FPGA core."""
    program = folder / "peers_core"
    headers = (f"-I{CRATE / 'examples'}", f"-I{ROOT / 'rtl' / 'native'}")
    source = ROOT / "tests" / "port_machines" / "peers.c"
    compiled("c++", "-std=c++17", "-DRTL_CORE", *headers, "-xc++", source, "-xnone", *LINKED, "-o", program)
    return program


def compiled(compiler: str, *arguments: object) -> None:
    command = [compiler, *WARNINGS, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def numbers(*command: object) -> list[list[float]]:
    """The numbers that a program prints, line by line."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]


def ends(kind: str) -> tuple[str, str]:
    """The device whose engine works, and the other one: the destination of the data reads."""
    return ("A", "B") if kind == "write" else ("B", "A")


def peers(
    program: Path, description: Path, kind: str, size: int, outstanding: int, *core: object
) -> tuple[float, float]:
    """GB/s and average time in ns of the middle half of the requests."""
    # The engine and the memory of two-cores.toml.
    retire = 60_000 if kind == "read" else 0
    engine = (100_000, 24_000 + size, 24_000, retire, 64)
    memory = (0, 12_000, 125_000)
    lines = numbers(
        program, description, *ends(kind), kind, size, outstanding, COUNTS[size], *engine, *memory, 32, *core
    )
    done = sorted(end for _, end in lines)
    # Requests end in waves of as many as are in flight.
    first, last = (share * len(done) // 4 // outstanding * outstanding for share in (1, 3))
    times = [end - start for start, end in lines[first:last]]
    return (last - first) * size / (done[last] - done[first]) * 1e3, sum(times) / len(times) / 1e3


def simulated(kind: str, size: int, outstanding: int, queues: int = 1) -> tuple[float, float]:
    """The same of the fabric simulator; `outstanding` requests in each queue."""
    flow = {"source": "A", "destination": "B", "primitive": f"d2d-{kind}", "size_bytes": size}
    rows = [flow | {"name": str(queue), "queue": queue, "outstanding": outstanding} for queue in range(queues)]
    flows = fabric.simulate(fabric.load(FABRIC), pd.DataFrame(rows)).flows
    return float(flows["gbytes_per_s"].sum()), float(flows["average_ns"].mean())


@pytest.mark.parametrize("outstanding", [1, 16])
@pytest.mark.parametrize("size", sizes(QUICK))
@pytest.mark.parametrize("kind", ["write", "read"])
def test_two_devices_in_c_get_what_the_fabric_simulator_gives(
    programs: Path, kind: str, size: int, outstanding: int
) -> None:
    in_flight = min(outstanding, max(1, (1 << 18) // size))
    found = peers(programs / "peers", FABRIC, kind, size, in_flight)
    assert found == pytest.approx(simulated(kind, size, in_flight), rel=WITHIN)


def link_byte_fs() -> int:
    """The time of a byte from a device to the switch."""
    names, _, capacities = fabric.load(FABRIC).handle.edges()
    return round(1e6 / capacities[names.index("A->switch")])


def with_core(folder: Path, device: str) -> Path:
    """The fabric, the delay of one device less by half the window in which its process runs."""
    head, name, rest = FABRIC.read_text().partition(f'name = "{device}"')
    changed = folder / f"{device}.toml"
    changed.write_text(head + name + rest.replace("delay_ns = 40.0", "delay_ns = 0.0", 1))
    return changed


@needs_core
@pytest.mark.parametrize("size", sizes({256}))
@pytest.mark.parametrize("core", ["engine", "peer"])
@pytest.mark.parametrize("kind", ["write", "read"])
def test_a_device_in_c_and_the_core_in_rtl_get_what_the_fabric_simulator_gives(
    programs: Path, tmp_path: Path, kind: str, core: str, size: int
) -> None:
    description = with_core(tmp_path, ends(kind)[core == "peer"])
    queues, outstanding = (4, 16) if size <= 4096 else (1, 2)
    given = (core, rtl.program(), link_byte_fs())
    rate, _ = peers(core_program(programs), description, kind, size, queues * outstanding, *given)
    assert rate == pytest.approx(simulated(kind, size, outstanding, queues)[0], rel=WITHIN)


SWITCH = """name = "box"
title = "Devices behind a switch"
provenance = { source = "a test" }
[[node]]
name = "host"
kind = "host"
[[node]]
name = "switch"
kind = "switch"
upper = "host"
link = "gen4x16"
"""
DRIVES = ["ssd0", "ssd1", "ssd2", "ssd3"]


def below(name: str, kind: str, link: str) -> str:
    """A device below the switch."""
    return f'[[node]]\nname = "{name}"\nkind = "{kind}"\nupper = "switch"\nlink = "{link}"\n'


@pytest.mark.parametrize(("target", "gpu_link"), [("host", "gen4x16"), ("gpu", "gen4x16"), ("gpu", "gen4x8")])
def test_the_hook_of_a_storage_simulator_gets_what_the_fabric_simulator_gives(
    programs: Path, tmp_path: Path, target: str, gpu_link: str
) -> None:
    box = tmp_path / "box.toml"
    drives = "".join(below(name, "nvme", "gen4x4") for name in DRIVES)
    box.write_text(SWITCH + below("gpu", "gpu", gpu_link) + drives)
    [[rate, _]] = numbers(programs / "storage_hook", box, target, 16384, 64, 500, *DRIVES)
    primitive = "d2h" if target == "host" else "d2d-write"
    rows = [
        {"name": name, "source": name, "destination": target, "primitive": primitive, "size_bytes": 16384}
        for name in DRIVES
    ]
    flows = fabric.simulate(fabric.load(box), pd.DataFrame(rows).assign(outstanding=64)).flows
    assert rate == pytest.approx(float(flows["gbytes_per_s"].sum()), rel=WITHIN)


def test_the_guide_shows_what_the_storage_hook_prints(programs: Path, tmp_path: Path) -> None:
    section = (ROOT / "docs" / "guides" / "other-simulators.md").read_text().partition("# box.toml\n")[2]
    box = tmp_path / "box.toml"
    box.write_text(section.partition("```")[0])
    shown = [line.strip() for line in section.splitlines() if line.startswith("    ")]
    asked = [line.split()[2:] for line in shown if line.startswith("$ storage_hook")]
    assert len(asked) == 2
    for words, printed in zip(asked, shown[1::2], strict=False):
        [found] = numbers(programs / "storage_hook", box, *words[1:])
        assert printed == f"{found[0]:.4f} {found[1]:.3f}"


RANKS = [f"gpu{number}" for number in range(8)]
MACHINE = """kind = "machine"
name = "eight"
title = "Eight GPUs behind a switch"
[[switch]]
name = "switch"
link = "gen5x16"
[[device]]
name = "gpu0..7"
kind = "gpu"
link = "gen5x16"
below = "switch"
"""


def test_the_hook_of_a_collective_simulator_gets_the_rates_of_the_links(programs: Path, tmp_path: Path) -> None:
    machine, described = tmp_path / "machine.toml", tmp_path / "fabric.toml"
    machine.write_text(MACHINE)
    described.write_text(SWITCH + "".join(below(name, "device", "gen5x16") for name in RANKS))
    rows = [
        {"name": one, "source": one, "destination": other, "primitive": "stream"}
        for one, other in zip(RANKS, [*RANKS[1:], RANKS[0]], strict=True)
    ]
    slowest = float(fabric.simulate(fabric.load(described), pd.DataFrame(rows)).flows["gbytes_per_s"].min())
    found = [numbers(programs / "collective_hook", text, 4 << 20, 4, *RANKS)[0] for text in (machine, described)]
    # Devices of the machine have the delay of the preset of their kind.
    assert found[0] == pytest.approx(found[1], rel=WITHIN)
    [us, bus] = found[0]
    assert bus == pytest.approx(slowest, rel=WITHIN)
    # One ring alone has nothing to send while a chunk is on its way.
    [[alone_us, _]] = numbers(programs / "collective_hook", machine, 4 << 20, 1, *RANKS)
    assert alone_us > 1.02 * us
