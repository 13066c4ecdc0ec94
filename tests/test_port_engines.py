"""Engines from the public interface alone on the simulated host: each gets what link and host give, and no more.

`port_engines` has them in C: an AXI DMA, a scatter-gather engine, and a NIC with rings of descriptors. They end
with every tag and credit back, or fail. Cocotb (`rtl/tb/test_read_dma.py`) has engines in SystemVerilog and the
functional model of cocotbext-pcie; SimBricks (`crates/pcie-port/tests/simbricks`) has a behavioural NIC.
"""

import functools
import subprocess
from itertools import groupby
from pathlib import Path
from shutil import which
from typing import NamedTuple

import pytest

from pcielab import bounds
from pcielab.library.profiles import resolve

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "tests" / "port_engines"
CRATE = ROOT / "crates" / "pcie-port"
LIBRARY = ROOT / "target" / "debug" / "libpcie_port.a"
PLAIN = ("link.tags=256", "chunk_addresses=[34359738368]")
"""No read waits for a tag, and every address of the buffer takes 64 bits."""
HOSTS = ["hsw2620", "snb-iommu", "clx-6234", "icx-6346"]
QUICK_HOSTS = [pytest.param(host, marks=[pytest.mark.slow] if host != "hsw2620" else []) for host in HOSTS]

pytestmark = pytest.mark.skipif(
    not LIBRARY.exists() or which("cc") is None,
    reason=f"needs cc and the library: make {LIBRARY.relative_to(ROOT)}",
)


class Sent(NamedTuple):
    """A TLP of an engine: what it is for, its bytes, when it left the engine and when it was done, ps."""

    what: str
    size: int
    sent: int
    done: int

    @property
    def reads(self) -> bool:
        return self.what in ("read", "tx") or self.what.endswith("descriptors")


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs."""
    folder = tmp_path_factory.mktemp("engines")
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{CRATE / 'include'}"]
    for name in ("axi_dma", "scatter_gather", "nic_rings"):
        command = ["cc", "-std=c99", "-O1", *warnings, SOURCES / f"{name}.c", LIBRARY, "-lpthread", "-ldl", "-lm"]
        subprocess.run([*map(str, command), "-o", str(folder / name)], check=True)
    return folder


def tlps(folder: Path, host: str, engine: str, *arguments: object) -> list[Sent]:
    """What an engine sends, in the order in which it was done."""
    system = folder / f"{host}.json"
    system.write_text(resolve(host, list(PLAIN)).to_json())
    command = [f"./{engine}", system, *arguments]
    done = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = (line.split() for line in done.stdout.splitlines())
    return sorted((Sent(what, *map(int, numbers)) for what, *numbers in rows), key=lambda one: one.done)


@functools.cache
def time_ps(host: str, test: str, size: int) -> float:
    """The least time between transfers of a size, in closed form."""
    ideal = resolve(host, [*PLAIN, "device=direct-dma"])
    return 8000 * size / float(bounds(ideal, test=test, size=size, window="64K").frame["bandwidth_gbps"].iloc[0])


@functools.cache
def request_ps(host: str) -> float:
    """The time of a read request on the link: of a pair of 64 B, for which the direction of the device binds."""
    return time_ps(host, "bw-rdwr", 64) - time_ps(host, "bw-wr", 64)


@functools.cache
def acknowledgement_ps(host: str) -> float:
    """The time of the acknowledgement of a write: two are in a pair of 512 B, for which the root port binds."""
    return (time_ps(host, "bw-rdwr", 512) - time_ps(host, "bw-rd", 512)) / 2


def link_ps(host: str, sent: list[Sent]) -> float:
    """The least time for some TLPs: that of the direction that takes longer."""
    up = down = 0.0
    counted = groupby(sorted(sent), lambda one: (one.reads, one.size))
    for (reads, size), group in counted:
        number = len(list(group))
        up += number * (request_ps(host) if reads else time_ps(host, "bw-wr", max(size, 4)))
        down += number * (time_ps(host, "bw-rd", size) if reads else acknowledgement_ps(host))
    return max(up, down)


def share(host: str, sent: list[Sent]) -> float:
    """How much of its bound an engine reaches in the middle of its run, where nothing fills or drains."""
    start, end = sent[3 * len(sent) // 8].done, sent[3 * len(sent) // 4].done
    return link_ps(host, [one for one in sent if start < one.done <= end]) / (end - start)


CASES = {
    "write-heavy AXI DMA": ("axi_dma", 0, 2_000_000, 1024),
    "reading AXI DMA": ("axi_dma", 2_000_000, 0, 1024),
    "mixed AXI DMA": ("axi_dma", 2_000_000, 2_000_000, 1024),
    "scatter-gather reads": ("scatter_gather", "read", 1200),
    "scatter-gather writes": ("scatter_gather", "write", 1200),
    "NIC both ways": ("nic_rings", 1024, 3000, 3000),
    "NIC that receives": ("nic_rings", 1500, 3000, 0),
}


@pytest.mark.parametrize("host", QUICK_HOSTS)
@pytest.mark.parametrize("case", CASES)
def test_engines_reach_the_bound_and_no_more(engines: Path, host: str, case: str) -> None:
    found = share(host, tlps(engines, host, *CASES[case]))
    assert 0.98 < found < 1.005, found


def test_data_in_order_wait_for_the_slowest_read(engines: Path) -> None:
    """As the guide says: with 256 bursts of 512 B, and so all tags, a link of Gen4 x16 is not full."""
    assert share("icx-6346", tlps(engines, "icx-6346", "axi_dma", 2_000_000, 0, 256)) < 0.95
