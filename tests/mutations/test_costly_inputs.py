"""Files that are costly to read are refused in one error, or read in part.

Random changes rarely produce these: keys of thousands of parts, files of keys only, trees of thousands of nodes,
machines of thousands of functions, pipes without a writer. Each is tried just beyond its limit, where the error
shows the limit. `make hostile` tries inputs a hundred times larger within five seconds and 500 MB.
"""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from machines import examined
from workers import attempt, failures, limited

from made_machine import server, write
from patience import HANGS_AFTER_SECONDS
from pcielab import InputError, fabric, model, sweeps
from pcielab.doctor import Tree, read_file, read_lspci_file, read_sysfs
from pcielab.doctor.reading import read_nccl_file
from pcielab.formats.importers import import_netfpga, import_output, import_pcie_bench
from pcielab.formats.raw_results import COUNTER_NS, FIRST_LINE
from pcielab.kinds.flows.tree import tree
from pcielab.library import validation
from pcielab.library.input_files import read_text
from pcielab.library.profiles import load_system
from pcielab.library.suites import load_message_suite, load_suite
from pcielab.report.save import specification
from shell import pcielab

FULL = "PCIELAB_COSTLY" in os.environ
"""Whether to try the large inputs."""

HEAD = "name = 'mine'\ntitle = 'Mine'\n"
PROVENANCE = "[provenance]\nsource = 'me'\n"
SYSTEM = "base = 'hsw2620'\n" + HEAD + PROVENANCE
SWEEP = HEAD + "system = 'snb'\n"
KEYS = 200_000

Input = Callable[[Path, int], object]
"""Makes an input of that many parts in a folder, and reads it."""


@dataclass(frozen=True)
class Costly:
    """An input of many parts.

    Attributes:
        read: Makes the input and reads it.
        over: Parts that are just too many.
        full: Parts of the large input.
        refused: Part of the message for `over`, with the limit; None if the input is read in part.
    """

    read: Input
    over: int
    full: int
    refused: str | None


def keys(line: str, count: int) -> str:
    """`count` lines, each with its number."""
    return "".join(line.format(number) + "\n" for number in range(count))


def toml(content: Callable[[int], str], load: Callable[[str], object]) -> Input:
    """A TOML file."""

    def read(folder: Path, count: int) -> object:
        path = folder / "mine.toml"
        path.write_text(content(count))
        return load(str(path))

    return read


def parts(before: str, part: str, after: str, load: Callable[[str], object] = load_suite) -> Input:
    """A TOML file with a key of that many parts: one before those that repeat."""
    return toml(lambda count: before + part * (count - 1) + after, load)


def lines(line: str, load: Callable[[str], object] = load_suite, before: str = "", after: str = "") -> Input:
    """A TOML file with that many lines."""
    return toml(lambda count: before + keys(line, count) + after, load)


def picture(folder: Path, nodes: int) -> None:
    """Draw a fabric of switches."""
    text = "mps_bytes = 128\n" + HEAD + PROVENANCE
    text += keys("[[node]]\nname = 'n{}'\nkind = 'external-switch'", nodes)
    for number in range(1, nodes):
        text += f"[[link]]\nupper = 'n{(number - 1) // 4}'\nlower = 'n{number}'\n"
        text += "down_gbytes_per_s = 4.0\nup_gbytes_per_s = 4.0\n"
    text += f"[[flows.sets.all]]\nname = 'f'\nsource = 'n1'\ndestination = 'n{nodes - 1}'\n"
    text += "standalone_gbytes_per_s = 1.0\n"
    path = folder / "mine.toml"
    path.write_text(text)
    loaded = fabric.load(str(path))
    specification(tree(loaded, fabric.estimate(loaded, loaded.flows("all"), "max-min")))


def machine(change: Callable[[Path, int], None]) -> Callable[[Path, int], Tree]:
    """A folder like /sys with that many parts more, for the doctor."""

    def read(folder: Path, count: int) -> Tree:
        root = folder / "machine"
        write(root, server())
        change(root, count)
        found = read_sysfs(root)
        examined(found)
        return found

    return read


def repeat_processors(root: Path, count: int) -> None:
    for node in (root / "sys/devices/system/node").glob("node*"):
        (node / "cpulist").write_text("0-99999," * count)


def add_functions(root: Path, count: int) -> None:
    devices = root / "sys/bus/pci/devices"
    target = next(devices.iterdir()).readlink()
    for number in range(count):
        (devices / f"{0x1000 + number // 256:04x}:{number % 256:02x}:00.0").symlink_to(target)


def add_counters(root: Path, count: int) -> None:
    for config in root.rglob("config"):
        (config.parent / "aer_dev_correctable").write_text(keys("{:x} 1", count))
    add_functions(root, count // 8)


def text_for(load: Callable[[Path], object], content: Callable[[int], str], name: str = "text.txt") -> Input:
    """A text for a reader."""

    def read(folder: Path, count: int) -> object:
        path = folder / name
        path.write_text(content(count))
        return load(path)

    return read


def of_bytes(load: Callable[[Path], object], name: str) -> Input:
    """A text of that many bytes, which takes no space on the disk."""

    def read(folder: Path, count: int) -> object:
        path = folder / name
        with path.open("wb") as file:
            file.truncate(count)
        return load(path)

    return read


def netfpga(before: str, after: str = "") -> Input:
    """Raw results with a number of that many digits in them."""
    head = f"{FIRST_LINE}\n# counter_ns={COUNTER_NS}\n#test=LAT_DMA_RD size="
    return text_for(
        lambda path: import_netfpga(path, path.with_suffix(".db"), overwrite=True),
        lambda digits: f"{head}{before}{'1' * digits}{after}\n",
    )


def published(path: Path) -> None:
    import_pcie_bench(path.parent, path.with_suffix(".db"))


def import_tool(path: Path) -> None:
    import_output(path, path.with_suffix(".db"))


def nccl(content: Callable[[int], str]) -> Input:
    """A topology of NCCL."""
    return text_for(read_nccl_file, lambda count: f"<system>{content(count)}</system>", "topo.xml")


def first_point(path: str) -> None:
    next(iter(sweeps.load_sweep(path).settings()))


def saved(functions: int) -> str:
    """A saved tree of functions."""
    listed = ",".join(['{"slot":"0000:00:00.0","title":""}'] * functions)
    return f'{{"format":"pcielab-tree-1","pcielab":"0","tree":{{"source":"","functions":[{listed}]}}}}'


ENTITIES = (
    "<!ENTITY a '" + "a" * 1_000 + "'><!ENTITY b '" + "&a;" * 1_000 + "'><!ENTITY c '" + "&b;" * 1_000 + "'>"
)
SIZES = [*range(8, 8_008, 8)]
HEADER = "00:00.0 Host bridge: a\n"
"""The first line of a function; `lspci` shows the class before the name."""
BARS = HEADER + "\tCapabilities: [200 v1] Physical Resizable BAR\n"
BAR = "\t\tBAR 0: current size: 1MB, supported: 1MB 2MB 4MB\n"
MANY = "more than 20000 keys of 3 parts or more"
FUNCTIONS = "PCI functions: give a machine of 8192 at most"
COSTLY: dict[str, Costly] = {
    "a key of many parts": Costly(
        parts("a", ".b", " = 1\n", load_system), 17, 30_000, "17 parts: give 16 at most"
    ),
    "a table of many parts": Costly(parts("[a", ".b", "]\n"), 17, 30_000, "17 parts: give 16 at most"),
    "a quoted key of many parts": Costly(parts("'a'", ' . "b\\""', " = 1\n"), 17, 30_000, "17 parts: give 16"),
    "a key of many parts after a text of lines": Costly(
        parts("x = ['''\na''', {a", ".b", " = 1}]\n"), 17, 30_000, "17 parts: give 16 at most"
    ),
    "keys of many parts": Costly(lines("a{}" + ".b" * 15 + " = 1"), 20_001, 100_000, MANY),
    "tables of many parts": Costly(lines("[a{}" + ".b" * 15 + "]"), 20_001, 50_000, MANY),
    "tables": Costly(lines("[a{}]"), 50_001, 400_000, "more than 50000 tables"),
    "numbers": Costly(
        toml(lambda count: "a = [" + "1," * count + "]\n", load_suite),
        300_000,
        2_000_000,
        "more than 300000 values",
    ),
    "tables in a list": Costly(
        toml(lambda count: "a = [" + "{b=1}," * count + "]\n", load_suite),
        100_000,
        600_000,
        "more than 300000 values",
    ),
    "unknown keys of a system": Costly(
        lines("llc_bytez{} = 1", load_system, "base = 'hsw2620'\n" + HEAD, PROVENANCE), 2, KEYS, "2 problems"
    ),
    "unknown keys of a part": Costly(
        lines("bytez{} = 1", load_system, SYSTEM + "[host]\nbase = 'hsw-e5-2620v3'\n[host.llc]\n"),
        2,
        KEYS,
        "2 problems",
    ),
    "unknown keys that are set": Costly(
        lines("'host.llc.b{}' = 1", load_system, SYSTEM + "[set]\n"), 2, 140_000, "[set] host.llc.b0: unknown key"
    ),
    "unknown keys of a suite": Costly(lines("familie{} = 1"), 2, KEYS, "problems"),
    "unknown keys of messages": Costly(lines("familie{} = 1", load_message_suite), 2, KEYS, "problems"),
    "unknown keys of a NIC": Costly(lines("steps{} = 1", model.load_nic), 2, KEYS, "problems"),
    "unknown keys of a fabric": Costly(lines("nodes{} = 1", fabric.load), 2, KEYS, "problems"),
    "axes of a sweep": Costly(
        lines("'host.llc.b{}' = [1]", sweeps.load_sweep, SWEEP + "[grid]\n"),
        101,
        70_000,
        "101 axes: give 100 at most",
    ),
    "words of a test": Costly(
        lines("b{} = 1", sweeps.load_sweep, SWEEP + "[test]\n"), 101, 140_000, "101 axes: give 100 at most"
    ),
    "nodes of a picture": Costly(picture, 300, 20_000, "times leaves are 1000 at most"),
    "processors of a node": Costly(machine(repeat_processors), 512, 8_000, None),
    "functions": Costly(machine(add_functions), 8_193, 20_000, FUNCTIONS),
    "counters of errors": Costly(machine(add_counters), 65, 8_000, None),
    "lines of an lspci text": Costly(
        text_for(read_lspci_file, lambda count: HEADER + "aa\n" * count),
        1_000_001,
        5_000_000,
        "more than 1000000 lines",
    ),
    "functions of an lspci text": Costly(
        text_for(read_lspci_file, lambda count: keys("{:08x}:" + HEADER, count)), 8_193, 400_000, FUNCTIONS
    ),
    "functions without a header of an lspci text": Costly(
        text_for(read_lspci_file, lambda count: "\t\tLnkSta: Speed 8GT/s, Width x8\n" * count),
        8_193,
        900_000,
        FUNCTIONS,
    ),
    "lines of a header of an lspci text": Costly(
        text_for(read_lspci_file, lambda count: HEADER + "aa\n" * count), 200_000, 900_000, None
    ),
    "tabs of an lspci text": Costly(
        text_for(read_lspci_file, lambda count: HEADER + "\t" * count + "a"), 4_097, 30 << 20, None
    ),
    "blanks in lines of an lspci text": Costly(
        text_for(read_lspci_file, lambda count: HEADER + f"\tName:{' ' * 900_000}a\n" * count), 1, 30, None
    ),
    "backticks at the end of an lspci text": Costly(
        text_for(read_lspci_file, lambda count: BARS + "\t\tLnkSta:\n" + "`" * count + "a"),
        100_000,
        30 << 20,
        None,
    ),
    "open elements in an lspci text": Costly(
        text_for(read_lspci_file, lambda count: "a\n" + "<system \n" * count),
        100_000,
        900_000,
        "no PCI function in this text",
    ),
    "resizable BARs of an lspci text": Costly(
        text_for(read_lspci_file, lambda count: BARS + BAR * count), 7, 150_000, None
    ),
    "bytes of an lspci text": Costly(
        of_bytes(read_lspci_file, "text.txt"), (32 << 20) + 1, 1 << 40, "is longer than 32 MiB"
    ),
    "functions of an NCCL topology": Costly(
        nccl(lambda count: keys('<pci busid="{:04x}:00:00.0"/>', count)),
        8_193,
        65_536,
        "more than 8192 PCI functions",
    ),
    "levels of an NCCL topology": Costly(
        nccl(lambda count: "<cpu>" * count + "</cpu>" * count), 64, 1_000_000, "more than 64 levels"
    ),
    "elements of an NCCL topology": Costly(
        nccl(lambda count: "<a/>" * count), 100_000, 2_000_000, "100000 elements"
    ),
    "entities of an NCCL topology": Costly(
        text_for(read_nccl_file, lambda count: f"<!DOCTYPE s [{ENTITIES}]><system>{'&c;' * count}</system>"),
        1,
        100_000,
        "has a document type",
    ),
    "bytes of an NCCL topology": Costly(
        of_bytes(read_nccl_file, "topo.xml"), (16 << 20) + 1, 1 << 40, "is longer than 16 MiB"
    ),
    "points of a sweep": Costly(
        toml(lambda count: SWEEP + f"[grid]\nsize = {SIZES}\nwindow = {[4096] * count}\n", first_point),
        1_001,
        200_000,
        "1001000 points: give 1000000 at most",
    ),
    "bytes of another tool's output": Costly(
        of_bytes(import_tool, "fio.json"), (64 << 20) + 1, 1 << 40, "is longer than 64 MiB"
    ),
    "functions of a saved tree": Costly(text_for(read_file, saved), 8_193, 400_000, FUNCTIONS),
    "lines of a published file": Costly(
        text_for(published, lambda count: "aa\n" * count, "bw_dma_sz_sweep.csv"),
        2,
        5_000_000,
        "the columns are 'aa'",
    ),
    "bytes of a published file": Costly(
        of_bytes(published, "bw_dma_sz_sweep.csv"), (16 << 20) + 1, 1 << 40, "is longer than 16 MiB"
    ),
    "bytes of a TOML file": Costly(
        of_bytes(lambda path: load_suite(str(path)), "a.toml"), (4 << 20) + 1, 1 << 40, "is longer than 4 MiB"
    ),
    "digits of a tick": Costly(netfpga("64\n"), 4_400, 4_400, "give a whole number of ticks"),
    "digits of a size": Costly(netfpga("", "\n1"), 4_400, 4_400, "size is '111"),
    "digits of an index": Costly(
        toml(lambda digits: SYSTEM + "[set]\n'chunk_addresses." + "1" * digits + "' = 1\n", load_system),
        10,
        4_400,
        "unknown key: did you mean chunk_addresses?",
    ),
}


@pytest.mark.parametrize("name", COSTLY)
def test_a_costly_input_is_refused_just_beyond_its_limit(name: str, tmp_path: Path) -> None:
    costly = COSTLY[name]
    messages: list[str] = []

    def case(_draw: random.Random, folder: Path) -> None:
        try:
            costly.read(folder, costly.over)
        except InputError as refused:
            messages.append(str(refused))
            raise

    with limited():
        assert attempt(name, case, 0, tmp_path) is None
    if costly.refused is None:
        assert messages == []
    else:
        assert costly.refused in "".join(messages)


@pytest.mark.skipif(not FULL, reason="takes gigabytes of files: make hostile tries it")
@pytest.mark.parametrize("name", COSTLY)
def test_a_costly_input_is_accepted_or_refused(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("tried", 1)
    costly = COSTLY[name]
    found = failures(name, lambda _draw, folder: costly.read(folder, costly.full), range(1), tmp_path)
    assert [one.problem for one in found] == []


_KINDS_IN_RUST = ("a system", "a part", "a NIC", "a suite", "messages", "a fabric")
READ_IN_RUST = tuple(f"unknown keys of {kind}" for kind in _KINDS_IN_RUST)
"""Their limit has a test in `pcie-schema`."""
READERS_OF_KEYS = [name for name in COSTLY if name.startswith("unknown keys of") and name not in READ_IN_RUST]


@pytest.mark.parametrize("name", READERS_OF_KEYS)
def test_a_hundred_unknown_keys_are_compared_with_known_ones(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closest, compared = validation.closest, []

    def counted(word: str, known: Sequence[str]) -> str | None:
        compared.append(word)
        return closest(word, known)

    monkeypatch.setattr(validation, "closest", counted)
    with pytest.raises(InputError):
        COSTLY[name].read(tmp_path, 200)
    assert 0 < len(compared) <= 110


def test_a_picture_below_its_limit_is_drawn(tmp_path: Path) -> None:
    picture(tmp_path, 250)


def test_an_attribute_has_64_counters_at_most(tmp_path: Path) -> None:
    found = machine(add_counters)(tmp_path, 65)
    assert max(len(function.errors.correctable or ()) for function in found.functions) == 64


def test_a_function_has_six_resizable_bars_at_most(tmp_path: Path) -> None:
    path = tmp_path / "lspci.txt"
    path.write_text(BARS + BAR * 7)
    [function] = read_lspci_file(path).functions
    assert len(function.resizable_bars) == 6


def test_a_line_of_lspci_is_read_up_to_a_page(tmp_path: Path) -> None:
    path = tmp_path / "lspci.txt"
    path.write_text(HEADER.rstrip() + "a" * 5_000 + "\n")
    [function] = read_lspci_file(path).functions
    assert len(function.title) == 4096 - len("00:00.0 ")


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


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_without_a_writer_is_refused(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("tried", 1)
    for pipe in ("FIFO.toml", "FIFO.csv", "FIFO.parquet", "FIFO.txt", "FIFO.db", "bw_dma_sz_sweep.csv"):
        os.mkfifo(tmp_path / pipe)
    done = pcielab(*READERS[name], cwd=tmp_path)
    assert done.exit_code == (0 if name == "runs" else 2), done.stderr
    assert "Traceback" not in done.stderr


def test_a_pipe_with_a_writer_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = f"import time\nwith open({str(pipe)!r}, 'w') as out:\n time.sleep(0.5)\n out.write('a' * 200_000)\n"
    with subprocess.Popen([sys.executable, "-c", writer]) as process:
        assert read_text(pipe) == "a" * 200_000
    assert process.returncode == 0
    with pytest.raises(InputError, match="is a pipe without a writer"):
        read_text(pipe)


def run_python(program: str, arguments: Sequence[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder, capture_output=True, text=True, timeout=HANGS_AFTER_SECONDS, check=False,
    )  # fmt: skip


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
