"""The kinds of input that pcielab reads, with the seeds of each and the use of a changed one.

A case writes a changed input into a folder and uses it as a command would, as far as that is quick. It passes if
it raises nothing, or an InputError.
"""

import json
import random
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import fabric_sources
import machines
import mutate
import pandas as pd
import resealed
import sealed
import stores
import tomli_w
import tools
import uses

from pcielab._core import read_sizes
from pcielab.analysis.calibrate.measured import read_pack
from pcielab.devices.running import simulate
from pcielab.formats.exporters import export
from pcielab.formats.raw_results import COUNTER_NS, FIRST_LINE
from pcielab.library import shipped, suites
from pcielab.library.profiles import resolve
from pcielab.library.profiles.system import check_file
from pcielab.store import open_store
from suite_texts import suite_text, transfers

Draw = random.Random
Case = Callable[[Draw, Path], None]
_PROFILES = shipped.directory("profiles")
_SUITES = shipped.directory("suites")

LSPCI = """\
0000:3a:00.0 PCI bridge [0604]: Intel Corporation Device [8086:352a] (rev 04) (prog-if 00 [Normal decode])
        Control: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+
        Capabilities: [40] Express (v2) Root Port (Slot+), IntMsgNum 0
                LnkCap: Port #0, Speed 32GT/s, Width x16, ASPM not supported
                LnkSta: Speed 8GT/s (downgraded), Width x8 (downgraded)

0000:3b:00.0 Ethernet controller [0200]: Netronome Systems, Inc. Device 6000 [19ee:6000]
        Control: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+
        Capabilities: [60] Express (v2) Endpoint, MSI 00
                DevCtl: CorrErr- NonFatalErr+ FatalErr+ UnsupReq-
                        RlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-
                        MaxPayload 256 bytes, MaxReadReq 512 bytes
                LnkCap: Port #0, Speed 16GT/s, Width x8, ASPM not supported
                LnkCtl: ASPM Disabled; RCB 64 bytes, LnkDisable- CommClk+
                LnkSta: Speed 8GT/s (downgraded), Width x8
        Capabilities: [100 v1] Advanced Error Reporting
                AERCap: First Error Pointer: 04, ECRCGenCap+ ECRCGenEn+ ECRCChkCap+ ECRCChkEn+
"""
RECORDED = {
    "sys-lspci.txt": LSPCI,
    "sys-cpuinfo.txt": "model name\t: Intel(R) Xeon(R) CPU E5-2630 0\nmodel\t: 45\nphysical id\t: 0\n"
    "cache size\t: 15360 KB\nphysical id\t: 1\n",
    "sys-meminfo.txt": "MemTotal:       65857044 kB\n",
    "sys-uname.txt": "Linux machine 4.4.0 x86_64\n",
    "sys-kernel-cmdline.txt": "root=/dev/sda1 intel_iommu=on,sp_off\n",
    "sys-numactl.txt": "available: 2 nodes (0-1)\n",
    "sys-nfp-hwinfo.txt": "assembly.partno=AMDA0058-0001\n",
    "sys-buf-sz.txt": "67108864\n",
    "sys-dma-addrs.txt": "0x400000000 0x400400000\n0x400800000 0x400c00000\n",
    "sys-date.txt": "Sun Aug 19 2018\n",
}
"""The recorded facts of a measured machine."""

_FEW: dict[str, Any] = {"caches": ["host-warm"], "transactions": 500}
TINY_SUITE = suite_text(
    transfers("bw_dma_sz_sweep", "BW_DMA_RD BW_DMA_WR BW_DMA_RW", 64, 300, **_FEW),
    transfers("lat_dma_details", "LAT_DMA_RD LAT_DMA_WRRD", 64, 300, **_FEW, details=True),
    name="tiny",
)


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def tables(*patterns: str) -> list[dict[str, Any]]:
    """The tables of the shipped files that match patterns below `profiles` or `suites`."""
    roots = {"profiles": _PROFILES, "suites": _SUITES}
    found = []
    for pattern in patterns:
        root, _, below = pattern.partition("/")
        found += [_toml(path) for path in sorted(roots[root].glob(below))]
    return found


@cache
def two_groups(*patterns: str) -> list[dict[str, Any]]:
    """The shipped suites that match patterns, with only their first and last group: the others are similar."""
    return [seed | {"group": [seed["group"][0], seed["group"][-1]]} for seed in tables(*patterns)]


def _written(draw: Draw, seed: dict[str, Any], path: Path) -> Path:
    """Write a changed table: in three of four cases a change of the table, else of its text."""
    if draw.random() < 0.75:
        path.write_bytes(tomli_w.dumps(mutate.table(draw, seed)).encode(errors="surrogatepass"))
    else:
        path.write_bytes(mutate.text(draw, _text(seed)))
    return path


_TEXTS: dict[int, bytes] = {}


def _text(seed: dict[str, Any]) -> bytes:
    """A table of a cached list as TOML, cached."""
    if id(seed) not in _TEXTS:
        _TEXTS[id(seed)] = tomli_w.dumps(seed).encode()
    return _TEXTS[id(seed)]


@cache
def whole_systems() -> list[dict[str, Any]]:
    """Small systems that share no files: link, host and device are tables in each."""
    found = []
    for name in ("hsw2620", "ib-000-nosp", "e3", "gen5-x16"):
        content = json.loads(resolve(name).to_json())
        content["chunk_bytes"], content["chunk_addresses"] = 1 << 20, [0x1_0000_0000, 0x8000_0000]
        content["host"]["llc"] |= {"llc_bytes": 1 << 20, "slices": 2}
        found.append(_without_none(content) | {"provenance": {"source": "made up"}})
    return found


def _without_none(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _without_none(inner) for key, inner in content.items() if inner is not None}
    return content


def profiles(draw: Draw, folder: Path) -> None:
    """Files of hosts, devices, links and systems."""
    kind = draw.choice(["system", "system", "host", "device", "link"])
    if kind == "system":
        uses.system(_written(draw, draw.choice(whole_systems()), folder / "mine.toml"))
    else:
        seed = draw.choice(tables(f"profiles/{kind}s/*.toml"))
        check_file(kind, _written(draw, seed, folder / "mine.toml"))  # type: ignore[arg-type]


_KEYS = ["host.iommu.walk_ns", "host.llc.ways", "link.tags", "chunk_addresses.0", "device.dma.outstanding", "host"]
_KEYS += ["host.idle.clusters.0.share", "iommu", "host.llc", "name", "link.flit", "host.root_complex.read_ns"]
_KEYS += ["host.root_complex.posted_header_credits", "chunk_bytes", "device", "link.generation"]
_KEYS += [".".join("a" * 1_000), "a" * 100_000, "host." * 300 + "walk_ns", "host.llc.", ".", "chunk_addresses.²"]


def sets(draw: Draw, folder: Path) -> None:
    """Changes to single values, as `--set` takes them."""
    del folder
    asked = []
    for _ in range(draw.choice([1, 1, 2])):
        key = draw.choice(_KEYS)
        given = draw.choice(
            [*mutate.WORDS, *map(str, mutate.WHOLE), *map(str, mutate.REAL), "[" * 20_000, "[1, 2]"]
        )
        if draw.random() < 0.3:
            key = mutate.text(draw, key.encode()).decode(errors="replace")
        asked.append(f"{key}={given}")
    uses.changes(asked)


def suite_files(draw: Draw, folder: Path) -> None:
    """Suites of tests."""
    seed = draw.choice(two_groups("suites/quick.toml", "suites/demo.toml"))
    uses.suite(_written(draw, seed, folder / "mine.toml"))


def message_suites(draw: Draw, folder: Path) -> None:
    """Suites of messages."""
    seed = draw.choice(two_groups("suites/messages/*.toml"))
    uses.message_suite(_written(draw, seed, folder / "mine.toml"))


def message_profiles(draw: Draw, folder: Path) -> None:
    """Profiles of messages, and the results of the model for them."""
    seed = draw.choice(tables("profiles/pio/*.toml"))
    uses.message_profile(_written(draw, seed, folder / "mine.toml"), crossings=draw.random() < 0.1)


def nics(draw: Draw, folder: Path) -> None:
    """Profiles of NICs."""
    seed = draw.choice(tables("profiles/nics/*.toml"))
    uses.nic(_written(draw, seed, folder / "mine.toml"))


def fabrics(draw: Draw, folder: Path) -> None:
    """Fabrics, and estimates of their flows."""
    seed = draw.choice(tables("profiles/fabrics/*.toml"))
    uses.fabric_file(_written(draw, seed, folder / "mine.toml"))


@cache
def _flow_columns() -> dict[str, list[Any]]:
    return {
        "name": ["a", "b", "", "d"],
        "source": ["host1", "A", "host2", "B"],
        "destination": ["C", "host1", "C", "A"],
        "primitive": ["h2d", "d2h", "h2d", "d2d-write"],
        "size_bytes": [64, 4096, 1024, 300],
        "outstanding": [1, 8, 64, 2],
        "arrivals": ["even", "random", "even", "even"],
        "socket": [0, 0, 1, 0],
        "queue": [0, 0, 0, 1],
        "standalone_gbytes_per_s": [8.0, None, 0.5, 1.0],
    }


def flows(draw: Draw, folder: Path) -> None:
    """Flows as CSV and Parquet, estimated and run for a microsecond."""
    columns = {key: list(values) for key, values in _flow_columns().items()}
    for key in draw.sample(sorted(columns), draw.choice([0, 2, 5])):
        if key not in ("source", "destination"):
            del columns[key]
    if draw.random() < 0.5:
        path = folder / "mine.csv"
        lines = [",".join(columns)]
        lines += [
            ",".join("" if one is None else str(one) for one in row) for row in zip(*columns.values(), strict=True)
        ]
        path.write_bytes(mutate.text(draw, "\n".join([*lines, ""]).encode()))
    else:
        path = folder / "mine.parquet"
        _write_parquet(draw, columns, path)
    uses.flows(path)


def _write_parquet(draw: Draw, columns: dict[str, list[Any]], path: Path) -> None:
    for _ in range(draw.choice([1, 1, 2])):
        key = draw.choice(list(columns))
        change = draw.random()
        if change < 0.6:
            columns[key][draw.randrange(4)] = mutate.value(draw, columns[key][0])
        elif change < 0.8:
            columns[key] = [mutate.value(draw)] * 4
        elif change < 0.9:
            del columns[key]
        else:
            columns[draw.choice(mutate.WORDS)] = columns[key]
    rows = draw.choice([4, 4, 4, 1, 0])
    try:
        pd.DataFrame(columns).head(rows).to_parquet(path)
    except Exception:  # values that Parquet cannot hold
        path.write_bytes(mutate.text(draw, b"PAR1 and then nothing PAR1"))
        return
    if draw.random() < 0.15:
        path.write_bytes(mutate.text(draw, path.read_bytes()))


def fabric_suites(draw: Draw, folder: Path) -> None:
    """Experiments on a fabric: flows as TOML, and sweeps over them."""
    uses.fabric_suite(_written(draw, short_experiments(), folder / "mine.toml"))


@cache
def short_experiments() -> dict[str, Any]:
    (seed,) = tables("suites/fabric/*.toml")
    return seed | {"experiment": [seed["experiment"][0], seed["experiment"][-1]]}


SWEEP: dict[str, Any] = {
    "name": "mine",
    "title": "Mine",
    "system": "snb",
    "set": {"host.iommu.walk_ns": 300, "link.ecrc": True},
    "test": {"test": "bw-rd", "cache": "device-warm"},
    "grid": {"host.llc.ddio_ways": [1, 2, 4], "window": ["64K", "1M"], "size": [64, "4K"]},
    "draw": {
        "method": "hypercube",
        "count": 4,
        "seed": 1,
        "between": {"host.root_complex.read_ns": {"low": 200.0, "high": 600.0, "scale": "log"}},
    },
}


def sweep_files(draw: Draw, folder: Path) -> None:
    """Sweeps, and the first point of each."""
    uses.sweep(_written(draw, SWEEP, folder / "mine.toml"))


QUESTION: dict[str, Any] = {
    "system": "ib-000",
    "sets": {"host.llc.ddio_ways": 4, "host.iommu.walk_ns": 300.0},
    "bandwidth": "bw-rdwr",
    "latency": "lat-rd",
    "size": 64,
    "window": 8192,
    "cache": "cold",
    "pattern": "random",
    "host_offset": 4,
    "device_offset": 0,
    "outstanding": 8,
    "seed": 1,
}


def questions(draw: Draw, folder: Path) -> None:
    """Questions of pages that are answered in closed form."""
    del folder
    asked = mutate.table(draw, QUESTION)
    for key in draw.sample(sorted(QUESTION), draw.choice([0, 0, 3])):
        asked.pop(key, None)
    uses.question(asked, with_answer=draw.random() < 0.3)


def prepare(folder: Path) -> None:
    """Make the inputs that cases start from, once, beside their folders."""
    (folder / "tiny.toml").write_text(TINY_SUITE, encoding="utf-8")
    (folder / "small.toml").write_text(tomli_w.dumps(whole_systems()[0]), encoding="utf-8")
    chosen = suites.load_suite(str(folder / "tiny.toml"))
    simulate(resolve(str(folder / "small.toml")), chosen, folder / "tiny.db", jobs=1)
    export(open_store(folder / "tiny.db"), "pcie-bench", folder / "published")
    for name, content in RECORDED.items():
        (folder / "published" / name).write_text(content, encoding="utf-8")
    stores.prepare(folder, folder / "tiny.toml", folder / "published")
    sealed.prepare(folder)


def _changed_folder(draw: Draw, folder: Path) -> Path:
    """The folder in the published format, with one or two of its files changed."""
    mine = folder / "published"
    mine.mkdir(exist_ok=True)
    originals = sorted((folder.parent / "published").iterdir())
    for original in originals:
        path = mine / original.name
        if not path.is_symlink():  # new, or changed by an earlier case
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
            path.symlink_to(original)
    for original in draw.sample(originals, draw.choice([1, 1, 2])):
        path = mine / original.name
        path.unlink()
        if draw.random() < 0.05:
            path.mkdir()
        else:
            path.write_bytes(mutate.text(draw, original.read_bytes()))
    return mine


def imports(draw: Draw, folder: Path) -> None:
    """Folders in the published format, imported."""
    uses.published(_changed_folder(draw, folder), folder / "run.db")


RAW_RESULTS = f"""{FIRST_LINE}
# title=A card
# counter_ns={COUNTER_NS}
#test=LAT_DMA_RD family=f size=64 window=8192 cache=HWarm pattern=Rand host_offset=0 device_offset=0
101
99
#test=BW_DMA_WR family=g size=256 window=4096 cache=Cold pattern=Seq host_offset=0 device_offset=4 transfers=1000
123456
"""


def raw_results(draw: Draw, folder: Path) -> None:
    """Raw results of the NetFPGA, imported."""
    path = folder / "raw.txt"
    path.write_bytes(mutate.text(draw, RAW_RESULTS.encode()))
    uses.raw_results(path)


def measured(draw: Draw, folder: Path) -> None:
    """The same folders, read for calibration, and packs of some of their rows."""
    if draw.random() < 0.3:
        path = folder / "pack.csv"
        lines = ["family,test,cache,window_bytes,size_bytes", "bw_dma_sz_sweep,BW_DMA_RD,HWarm,8192,64", ""]
        path.write_bytes(mutate.text(draw, "\n".join(lines).encode()))
        read_pack(path)
        return
    uses.measured(_changed_folder(draw, folder))


def lspci(draw: Draw, folder: Path) -> None:
    """Texts of `lspci -vvv`, and the systems of skeletons made from them."""
    text = mutate.text(draw, LSPCI.encode()).decode(errors="replace")
    device = draw.choice([None, None, "3b:00.0", "19ee:6000", draw.choice(mutate.WORDS)])
    uses.lspci_text(text, draw.choice(["mine", "mine", draw.choice(mutate.WORDS)]), device, folder / "mine.toml")


def sizes(draw: Draw, folder: Path) -> None:
    """Sizes, ranges and numbers on the command line."""
    del folder
    text = draw.choice(["64", "4K", "1.5M", "64:1500", "64:1500:4", "60,61,77", "64:4096:64,8K"])
    text = mutate.text(draw, text.encode()).decode(errors="replace")
    try:
        read_sizes(text, "--sizes")
    finally:
        number, tags = draw.choice([*mutate.REAL, *mutate.WHOLE]), draw.choice(mutate.WHOLE)
        uses.limits(number, tags, draw.choice([64, *mutate.WHOLE]))


def systems(draw: Draw, folder: Path) -> None:
    """Changed systems, run."""
    content = mutate.table(draw, draw.choice(whole_systems()))
    path = folder / "mine.toml"
    path.write_text(tomli_w.dumps(content), encoding="utf-8")
    uses.run_of_system(path, folder.parent / "tiny.toml", draw.randrange(1 << 20))


def messages(draw: Draw, folder: Path) -> None:
    """Changed suites of messages on changed profiles, run: one group with one or two tests."""
    seed = draw.choice(tables("suites/messages/*.toml"))
    few = {key: one[:1] if isinstance(one, list) else one for key, one in draw.choice(seed["group"]).items()}
    wide = {
        key: draw.choice(seed["group"]).get(key, one) for key, one in few.items() if key in ("cores", "sharing")
    }
    group = few | {key: one[-1:] for key, one in wide.items()} | {"pace": draw.choice(["alone", "stream"])}
    suite = _written(draw, seed | {"group": [group]}, folder / "suite.toml")
    profile = draw.choice(tables("profiles/pio/*.toml"))
    uses.run_of_messages(suite, _written(draw, profile, folder / "mine.toml"))


KINDS: dict[str, Case] = {
    "profiles": profiles,
    "sets": sets,
    "suites": suite_files,
    "message-suites": message_suites,
    "message-profiles": message_profiles,
    "nics": nics,
    "fabrics": fabrics,
    "flows": flows,
    "fabric-suites": fabric_suites,
    "sweeps": sweep_files,
    "questions": questions,
    "imports": imports,
    "raw-results": raw_results,
    "measured": measured,
    "lspci": lspci,
    "sizes": sizes,
    "systems": systems,
    "messages": messages,
    **machines.KINDS,
    **fabric_sources.KINDS,
    **stores.KINDS,
    **sealed.KINDS,
    **resealed.KINDS,
    **tools.KINDS,
}
