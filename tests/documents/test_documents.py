"""Every command, program and file of every document works, in a reader's order.

Small suites replace shipped ones of the same names, which take minutes; the slow test runs the shipped ones.
"""

import contextlib
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from fabric_machines import MACHINES
from pcielab.cli.commands import COMMANDS, app
from pcielab.library import shipped
from shell import pcielab, succeed
from suite_texts import LSPCI

from .blocks import DOCUMENTS, ROOT, Block, Command, add_file, blocks, commands, mentioned

SMALL_SUITES = Path(__file__).with_name("small")
ELSEWHERE = (
    "make ",
    "nvbandwidth ",
    "ib_write_bw ",
    "fio ",
    "pcielab doctor",
    "pcielab explore",
    "RUSTFLAGS=",
    "duckdb ",
    "echo ",
    "pcielab run --device cuda",
    "pcielab run --device nvme",
    "pcielab run --device e1000e",
    "pcielab run --device pio",
    "pcielab devices schema numpy",
    "pcielab devices show numpy",
    "pcielab run --device numpy",
    "pcielab-run ",
    "sudo pcielab devices",
    "sudo pcielab doctor",
    "sudo pcielab-run ",
    "sudo ip link ",
)
"""Beginnings of commands that need certain hardware, run this test, or serve a browser: they are not run here.
`devices/test_guide.py` runs those that need the package of a guide."""
SERVER = ROOT / "tests/lspci_texts/pciutils-3.9.txt"
"""The machine of `machine.txt`."""
LSPCI_OF = {f"sudo lspci -vvv > {name}.txt": made for name, made in MACHINES.items()}
"""The machines of the guide about servers as fabrics."""
JOBS = [document for document in DOCUMENTS if document.parent.name == "jobs"]
"""One page each: what a newcomer wants, in three commands or ten lines of Python."""
TOOL_OUTPUTS = ROOT / "tests/tool_outputs"
TOOLS = {
    "gpu.json": "nvbandwidth/0.5-one-gpu.json",
    "other.txt": "nvbandwidth/0.10-selection.txt",
    "h2d.txt": "nvbandwidth/0.3-one-test.txt",
    "write.txt": "perftest/write-bw-all-sizes.txt",
    "randread.json": "fio/3.33-randread.json",
    "paste.txt": "pasted/several-tools.txt",
    "machine.json": "machine.json",
}
"""Outputs of other tools in the documents, and the machine where they ran."""
GUIDES = [document for document in DOCUMENTS if document not in JOBS]
PACK = """\
family,test,cache,window_bytes,size_bytes
bw_dma_sz_sweep,BW_DMA_RD,HWarm,8192,64
bw_dma_sz_sweep,BW_DMA_RD,HWarm,8192,512
lat_dma_sweep_rd_rnd_64,LAT_DMA_RD,Cold,4096,64
lat_dma_sweep_rd_rnd_64,LAT_DMA_RD,HWarm,4096,64
"""
FOLDERS = ("DIRECTORY", "results/my-machine", "results/nfp6000-1.2GHz_snb-Xeon-E5-2630_dell-t620")
"""Names of folders with measurements in the published format in the documents."""


@pytest.fixture
def small_suites(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small suites under the names of the shipped ones."""
    root = tmp_path_factory.mktemp("shipped")
    (root / "profiles").symlink_to(shipped.directory("profiles").resolve())
    (root / "suites").symlink_to(SMALL_SUITES)
    monkeypatch.setattr(shipped, "_ROOT", root)


@pytest.fixture(scope="session")
def measurements(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated folder in the published format."""
    folder = tmp_path_factory.mktemp("measurements")
    succeed("run", "--profile", "snb", "--suite", SMALL_SUITES / "paper.toml", "-o", folder / "run.db")
    succeed("export", "pcie-bench", folder / "run.db", "-o", folder / "published")
    (folder / "published" / "sys-lspci.txt").write_text(LSPCI, encoding="utf-8")
    return folder / "published"


@pytest.fixture
def folder(tmp_path: Path, measurements: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's folder, with the files that documents take for granted."""
    for name in FOLDERS:
        shutil.copytree(measurements, tmp_path / name)
    (tmp_path / "pack.csv").write_text(PACK, encoding="utf-8")
    # These replace the measurements of a GPU and a drive, so that the commands that read them can run.
    for name in ("gpu.db", "drive.db"):
        shutil.copy(measurements.parent / "run.db", tmp_path / name)
    for name, sample in TOOLS.items():
        shutil.copy(TOOL_OUTPUTS / sample, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def follow(document: Path, folder: Path) -> None:
    """Run all blocks of a document."""
    names: dict[str, Any] = {}
    printed = None
    for block in blocks(document):
        match block.language:
            case "sh" | "console":
                for command in commands(block):
                    execute(command, block, folder)
            case "python":
                printed = program(block, names)
            case "text":
                assert block.text == printed, f"{block.origin}: differs from the output of the program before it"
            case "toml":
                add_file(block, folder)
            case other:
                pytest.fail(f"{block.origin}: language {other!r}: give sh, console, python, text or toml")


def execute(command: Command, block: Block, folder: Path) -> None:
    """Run a command; it must succeed, and print the output of the document."""
    if command.line == "sudo lspci -vvv > machine.txt":
        shutil.copy(SERVER, folder / "machine.txt")
        return
    if (made := LSPCI_OF.get(command.line)) is not None:
        (folder / command.words[-1]).write_text(made(), encoding="utf-8")
        return
    if command.line.startswith(ELSEWHERE) and "machine.txt" not in command.words:
        return
    if command.line == "lspci -vvv > lspci.txt":
        (folder / "lspci.txt").write_text(LSPCI, encoding="utf-8")
        return
    words, target = redirected(command.words)
    assert words[0] == "pcielab", f"{block.origin}: {command.line}"
    done = pcielab(*words[1:], cwd=folder)
    assert done.exit_code == 0, f"{block.origin}: {command.line}: {done.stderr}"
    if target is not None:
        (folder / target).write_text(done.stdout, encoding="utf-8")
    elif command.printed is not None:
        printed = done.stderr + done.stdout
        assert is_shown(printed, command.printed), f"{block.origin}: {command.line}: {printed}"


def is_shown(printed: str, shown: str) -> bool:
    """Whether a document shows the output of a command: all, or in order those beside lines `...`."""
    if "..." not in shown.splitlines():
        return printed == shown
    lines = iter(printed.splitlines())
    return all(line in lines for line in shown.splitlines() if line != "...")


def redirected(words: list[str]) -> tuple[list[str], str | None]:
    """A command without its `> file`, and the file."""
    return (words[:-2], words[-1]) if words[-2] == ">" else (words, None)


def program(block: Block, names: dict[str, Any]) -> str:
    """Run a program with the names that earlier ones defined, and return its output."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block.text, block.origin, "exec"), names)
    return printed.getvalue()


def title(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.usefixtures("small_suites")
@pytest.mark.parametrize("document", GUIDES, ids=title)
def test_a_document_works(document: Path, folder: Path) -> None:
    follow(document, folder)


@pytest.mark.parametrize("document", JOBS, ids=title)
def test_a_job_works(document: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    follow(document, folder)


@pytest.mark.parametrize("document", JOBS, ids=title)
def test_a_job_is_short(document: Path) -> None:
    assert len(document.read_text(encoding="utf-8").splitlines()) <= 30
    asked = [command for block in blocks(document) if block.language == "console" for command in commands(block)]
    written = [block.text.split("\n") for block in blocks(document) if block.language == "python"]
    assert len(asked) <= 3
    assert sum(1 for lines in written for line in lines if line.strip()) <= 10
    assert asked or written


def test_the_readme_and_the_home_page_show_the_eight_jobs() -> None:
    assert len(JOBS) == 8
    for page, folder in (ROOT / "README.md", "docs/jobs"), (ROOT / "docs/index.md", "jobs"):
        text = page.read_text(encoding="utf-8")
        assert [job.name for job in JOBS if f"({folder}/{job.name})" not in text] == []


@pytest.mark.slow
@pytest.mark.parametrize("document", GUIDES, ids=title)
def test_a_document_works_with_the_shipped_suites(document: Path, folder: Path) -> None:
    follow(document, folder)


def options(words: list[str]) -> Iterator[str]:
    return (word.partition("=")[0] for word in words if word.startswith("--"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=title)
def test_commands_in_running_text_exist_with_their_options(document: Path) -> None:
    root: Any = typer.main.get_command(app)
    for mention in mentioned(document):
        _, name, *words = mention.words
        assert name in COMMANDS or name.startswith("-"), mention.line
        if name not in COMMANDS:
            continue
        _, command, _ = root.resolve_command(typer.Context(root), [name])
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        known = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
        assert set(options(words)) <= known | {"--help"}, mention.line
