"""Files that are costly to read are accepted or refused in one error, within five seconds and 500 MB.

Random mutations rarely produce these: keys of thousands of parts, files of keys only, trees of thousands of nodes,
machines of thousands of functions, pipes without a writer.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from machines import examined
from workers import failures

from patience import HANGS_AFTER_SECONDS, patient
from pcielab import InputError, fabric, model, sweeps
from pcielab.doctor import read_file, read_lspci_file, read_sysfs
from pcielab.doctor.made_machine import server, write
from pcielab.formats.importers import import_netfpga, import_pcie_bench
from pcielab.formats.raw_results import COUNTER_NS, FIRST_LINE
from pcielab.library.input_files import read_text
from pcielab.library.profiles import load_system
from pcielab.library.suites import load_message_suite, load_suite
from pcielab.report.fabric_tree import tree
from pcielab.report.save import specification

HEAD = "name = 'mine'\ntitle = 'Mine'\n"
PROVENANCE = "[provenance]\nsource = 'me'\n"
SYSTEM = "base = 'hsw2620'\n" + HEAD + PROVENANCE
SWEEP = HEAD + "system = 'snb'\n"
KEYS = 200_000


def keys(line: str, count: int = KEYS) -> str:
    """`count` lines, each with its number."""
    return "".join(line.format(number) + "\n" for number in range(count))


def toml(content: str, load: Callable[[str], object]) -> Callable[[Path], None]:
    """A case that loads a TOML file."""

    def case(folder: Path) -> None:
        path = folder / "mine.toml"
        path.write_text(content)
        load(str(path))

    return case


def picture_of(nodes: int) -> Callable[[Path], None]:
    """A case that draws a fabric of switches."""
    text = "mps_bytes = 128\n" + HEAD + PROVENANCE
    text += keys("[[node]]\nname = 'n{}'\nkind = 'external-switch'", nodes)
    for number in range(1, nodes):
        text += f"[[link]]\nupper = 'n{(number - 1) // 4}'\nlower = 'n{number}'\n"
        text += "down_gbytes_per_s = 4.0\nup_gbytes_per_s = 4.0\n"
    text += f"[[flows.sets.all]]\nname = 'f'\nsource = 'n1'\ndestination = 'n{nodes - 1}'\n"
    text += "standalone_gbytes_per_s = 1.0\n"

    def draw(path: str) -> None:
        loaded = fabric.load(path)
        specification(tree(loaded, fabric.estimate(loaded, loaded.flows("all"), "max-min")))

    return toml(text, draw)


def machine(change: Callable[[Path], None]) -> Callable[[Path], None]:
    """A case in which the doctor reads a changed folder like /sys."""

    def case(folder: Path) -> None:
        root = folder / "machine"
        write(root, server())
        change(root)
        examined(read_sysfs(root))

    return case


def repeat_processors(root: Path) -> None:
    for node in (root / "sys/devices/system/node").glob("node*"):
        (node / "cpulist").write_text("0-99999," * 8000)


def add_functions(root: Path, count: int = 20_000) -> None:
    devices = root / "sys/bus/pci/devices"
    target = next(devices.iterdir()).readlink()
    for number in range(count):
        (devices / f"{0x1000 + number // 256:04x}:{number % 256:02x}:00.0").symlink_to(target)


def add_counters(root: Path) -> None:
    for config in root.rglob("config"):
        counters = "".join(f"{number:x} 1\n" for number in range(8000))
        (config.parent / "aer_dev_correctable").write_text(counters)
    add_functions(root, 1_000)


def text_for(
    load: Callable[[Path], object], content: str | bytes, name: str = "text.txt"
) -> Callable[[Path], None]:
    """A case that reads a file."""

    def case(folder: Path) -> None:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        load(path)

    return case


def netfpga(number: str) -> Callable[[Path], None]:
    """A case that imports raw results with a number in them."""
    text = f"{FIRST_LINE}\n# counter_ns={COUNTER_NS}\n#test=LAT_DMA_RD size=64\n{number}\n"
    return text_for(lambda path: import_netfpga(path, path.with_suffix(".db"), overwrite=True), text)


def saved(functions: int) -> str:
    """A saved tree of functions."""
    listed = ",".join(['{"slot":"0000:00:00.0","title":""}'] * functions)
    return f'{{"format":"pcielab-tree-1","pcielab":"0","tree":{{"source":"","functions":[{listed}]}}}}'


CASES: dict[str, Callable[[Path], None]] = {
    "a key of 30,000 parts": toml("a" + ".b" * 30_000 + " = 1\n", load_system),
    "a table of 30,000 parts": toml("[a" + ".b" * 30_000 + "]\n", load_suite),
    "a quoted key of 30,000 parts": toml("'a'" + ' . "b\\""' * 30_000 + " = 1\n", load_suite),
    "a key of 30,000 parts after a text of lines": toml(
        "x = ['''\na''', {a" + ".b" * 30_000 + " = 1}]\n", load_suite
    ),
    "keys of 32 parts": toml(keys("a{}" + ".b" * 31 + " = 1", 40_000), load_suite),
    "tables of 32 parts": toml(keys("[a{}" + ".b" * 31 + "]", 40_000), load_suite),
    "tables": toml(keys("[a{}]", 400_000), load_suite),
    "numbers": toml("a = [" + "1," * 2_000_000 + "]\n", load_suite),
    "tables in a list": toml("a = [" + "{b=1}," * 600_000 + "]\n", load_suite),
    "unknown keys of a system": toml("base = 'hsw2620'\n" + keys("llc_bytez{} = 1"), load_system),
    "unknown keys of a part": toml(SYSTEM + "[host.llc]\n" + keys("bytez{} = 1"), load_system),
    "unknown keys that are set": toml(SYSTEM + "[set]\n" + keys("'host.llc.b{}' = 1", 140_000), load_system),
    "unknown keys of a suite": toml(keys("familie{} = 1"), load_suite),
    "unknown keys of messages": toml(keys("familie{} = 1"), load_message_suite),
    "unknown keys of a NIC": toml(keys("steps{} = 1"), model.load_nic),
    "unknown keys of a fabric": toml(keys("nodes{} = 1"), fabric.load),
    "axes of a sweep": toml(SWEEP + "[grid]\n" + keys("'host.llc.b{}' = [1]", 70_000), sweeps.load_sweep),
    "words of a test": toml(SWEEP + "[test]\n" + keys("b{} = 1", 140_000), sweeps.load_sweep),
    "a picture of 20,000 nodes": picture_of(20_000),
    "a picture of 250 nodes": picture_of(250),
    "processors of a node": machine(repeat_processors),
    "20,000 functions": machine(add_functions),
    "counters of errors": machine(add_counters),
    "a text of lspci in lines of two letters": text_for(read_lspci_file, "00:00.0 a\n" + "aa\n" * 5_000_000),
    "a text of lspci in functions": text_for(read_lspci_file, keys("00:{:02x}.0 a\n", 1_000_000)),
    "a text of lspci in tabs": text_for(read_lspci_file, "00:00.0 a\n" + "\t" * (30 << 20)),
    "a saved tree of 400,000 functions": text_for(read_file, saved(400_000)),
    "a published file in lines of two letters": text_for(
        lambda path: import_pcie_bench(path.parent, path.with_suffix(".db")),
        "aa\n" * 5_000_000,
        "bw_dma_sz_sweep.csv",
    ),
    "a tick of 4,400 digits": netfpga("1" * 4_400),
    "a size of 4,400 digits": netfpga("1\n#test=LAT_DMA_RD size=" + "1" * 4_400),
    "an index of 4,400 digits": toml(SYSTEM + "[set]\n'chunk_addresses." + "1" * 4_400 + "' = 1\n", load_system),
}


@pytest.mark.parametrize("name", CASES)
def test_a_costly_input_is_accepted_or_refused(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("tried", 1)
    case = CASES[name]
    found = [one.problem for one in failures(name, lambda _draw, folder: case(folder), range(1), tmp_path)]
    assert found == []


READERS = {
    "profiles": ("profiles", "show", "FIFO.toml"),
    "run --profile": ("run", "--profile", "FIFO.toml", "-o", "run.db"),
    "run --suite": ("run", "--suite", "FIFO.toml", "-o", "run.db"),
    "sweep": ("sweep", "FIFO.toml", "-o", "sweep"),
    "model nic": ("model", "nic", "FIFO.toml"),
    "fabric": ("fabric", "estimate", "FIFO.toml"),
    "flows": ("fabric", "estimate", "fabrex-u55c", "--flows", "FIFO.csv"),
    "flows of Parquet": ("fabric", "estimate", "fabrex-u55c", "--flows", "FIFO.parquet"),
    "doctor": ("doctor", "FIFO.txt"),
    "doctor --lspci": ("doctor", "--lspci", "FIFO.txt"),
    "skeleton": ("profiles", "skeleton", "--lspci", "FIFO.txt", "-o", "mine.toml"),
    "import netfpga": ("import", "netfpga", "FIFO.txt", "-o", "run.db"),
    "import pcie-bench": ("import", "pcie-bench", ".", "-o", "run.db"),
    "explain": ("explain", "FIFO.db"),
    "why": ("why", "FIFO.db"),
    "why of a fabric": ("why", "FIFO.toml"),
    "compare": ("compare", "FIFO.db", "FIFO.db"),
    "report": ("report", "FIFO.db", "-o", "report.html"),
    "runs": ("runs", "."),
    "resume": ("run", "--suite", "quick", "-o", "FIFO.db", "--resume"),
    "export": ("export", "json", "FIFO.db", "-o", "out.json"),
}


def run_python(program: str, arguments: Sequence[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder, capture_output=True, text=True, timeout=HANGS_AFTER_SECONDS, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_without_a_writer_is_refused(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("tried", 1)
    for pipe in ("FIFO.toml", "FIFO.csv", "FIFO.parquet", "FIFO.txt", "FIFO.db", "bw_dma_sz_sweep.csv"):
        os.mkfifo(tmp_path / pipe)
    started = time.monotonic()
    done = run_python("from pcielab.cli import main; main()", READERS[name], tmp_path)
    assert done.returncode == (0 if name == "runs" else 2), done.stderr
    assert "Traceback" not in done.stderr
    assert time.monotonic() - started < patient(60)


def test_a_pipe_with_a_writer_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = f"import time\nwith open({str(pipe)!r}, 'w') as out:\n time.sleep(0.5)\n out.write('a' * 200_000)\n"
    with subprocess.Popen([sys.executable, "-c", writer]) as process:
        assert read_text(pipe) == "a" * 200_000
    assert process.returncode == 0
    with pytest.raises(InputError, match="is a pipe without a writer"):
        read_text(pipe)


FAR = """
import time
def beyond():
    raise OverflowError("timestamp too large to convert to C _PyTime_t")
time.time = beyond
from pcielab.cli import main
main()
"""


@pytest.mark.parametrize("words", [["runs", "."], ["run", "--suite", "quick", "-o", "run.db"], ["explore"]])
def test_a_clock_that_python_cannot_read_is_refused(words: list[str], tmp_path: Path) -> None:
    """In the year 5138, `time.time` fails, and with it logging and every module that loads it."""
    done = run_python(FAR, words, tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "the clock of this machine is set before 1678 or after 2261" in done.stderr
