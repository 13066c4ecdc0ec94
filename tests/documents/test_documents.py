"""Every command, program and file of every document works, in the order in which a reader comes by them.

Suites that take minutes are stood in for by small ones of the same names; the slow test runs the real ones.
"""

import contextlib
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from pcielab.cli.commands import COMMANDS, app
from pcielab.library import shipped
from shell import pcielab, succeed

from .blocks import DOCUMENTS, ROOT, Block, Command, add_file, blocks, commands, mentioned

SMALL_SUITES = Path(__file__).with_name("small")
ELSEWHERE = (
    "make ",
    "nvbandwidth ",
    "pcielab doctor",
    "pcielab explore",
    "RUSTFLAGS=",
    "echo ",
    "pcielab run --device cuda",
    "pcielab run --device nvme",
    "pcielab run --device e1000e",
    "pcielab run --device pio",
    "pcielab-run ",
    "sudo pcielab devices",
    "sudo pcielab doctor",
    "sudo pcielab-run ",
    "sudo ip link ",
)
"""What begins like this looks at the machine that it runs on, is what runs this test, or serves a browser."""
LSPCI = """\
3b:00.0 Ethernet controller: Netronome Systems, Inc. Device 6000
\tControl: I/O- Mem+ BusMaster+ SpecCycle-
\tCapabilities: [c0] Express (v2) Endpoint, MSI 00
\t\tDevCtl:\tReport errors: Correctable-
\t\t\tRlxdOrd+ ExtTag- PhantFunc-
\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes Disabled- CommClk+
\t\tLnkSta:\tSpeed 8GT/s, Width x8, TrErr- Train-
"""
PACK = """\
family,test,cache,window_bytes,size_bytes
bw_dma_sz_sweep,BW_DMA_RD,HWarm,8192,64
bw_dma_sz_sweep,BW_DMA_RD,HWarm,8192,512
lat_dma_sweep_rd_rnd_64,LAT_DMA_RD,Cold,4096,64
lat_dma_sweep_rd_rnd_64,LAT_DMA_RD,HWarm,4096,64
"""
FOLDERS = ("DIRECTORY", "results/my-machine", "results/nfp6000-1.2GHz_snb-Xeon-E5-2630_dell-t620")
"""Measurements in the published format, as documents call them."""


@pytest.fixture
def small_suites(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small suites under the names of the shipped ones."""
    root = tmp_path_factory.mktemp("shipped")
    (root / "profiles").symlink_to(shipped.directory("profiles").resolve())
    (root / "suites").symlink_to(SMALL_SUITES)
    monkeypatch.setattr(shipped, "_ROOT", root)


@pytest.fixture(scope="session")
def measurements(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in the published format, made by simulating."""
    folder = tmp_path_factory.mktemp("measurements")
    succeed("run", "--profile", "snb", "--suite", SMALL_SUITES / "paper.toml", "-o", folder / "run.db")
    succeed("export", "pcie-bench", folder / "run.db", "-o", folder / "published")
    (folder / "published" / "sys-lspci.txt").write_text(LSPCI, encoding="utf-8")
    return folder / "published"


@pytest.fixture
def folder(tmp_path: Path, measurements: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a reader works: what documents take for granted is there."""
    for name in FOLDERS:
        shutil.copytree(measurements, tmp_path / name)
    (tmp_path / "pack.csv").write_text(PACK, encoding="utf-8")
    # In the place of what a GPU or a drive would have measured: what looks at it is what is tried.
    for name in ("gpu.db", "drive.db"):
        shutil.copy(measurements.parent / "run.db", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def follow(document: Path, folder: Path) -> None:
    """Do what a document says."""
    names: dict[str, Any] = {}
    printed = None
    for block in blocks(document):
        match block.language:
            case "sh" | "console":
                for command in commands(block):
                    obey(command, block, folder)
            case "python":
                printed = program(block, names)
            case "text":
                assert block.text == printed, f"{block.place}: what the program before it prints"
            case "toml":
                add_file(block, folder)
            case other:
                pytest.fail(f"{block.place}: a block of {other!r}: say sh, console, python, text or toml")


def obey(command: Command, block: Block, folder: Path) -> None:
    """Run a command; it must succeed, and print what the document shows."""
    if command.line.startswith(ELSEWHERE):
        return
    if command.line == "lspci -vvv > lspci.txt":
        (folder / "lspci.txt").write_text(LSPCI, encoding="utf-8")
        return
    words, target = redirected(command.words)
    assert words[0] == "pcielab", f"{block.place}: {command.line}"
    done = pcielab(*words[1:], cwd=folder)
    assert done.exit_code == 0, f"{block.place}: {command.line}: {done.stderr}"
    if target is not None:
        (folder / target).write_text(done.stdout, encoding="utf-8")
    elif command.printed is not None:
        printed = done.stderr + done.stdout
        assert is_shown(printed, command.printed), f"{block.place}: {command.line}: {printed}"


def is_shown(printed: str, shown: str) -> bool:
    """Whether a document shows what a command prints: all of it or, below a line `...`, some lines in order."""
    if not shown.startswith("...\n"):
        return printed == shown
    lines = iter(printed.splitlines())
    return all(line in lines for line in shown.splitlines()[1:])


def redirected(words: list[str]) -> tuple[list[str], str | None]:
    """A command without its `> file`, and the file."""
    return (words[:-2], words[-1]) if words[-2] == ">" else (words, None)


def program(block: Block, names: dict[str, Any]) -> str:
    """Run a program, with what those before it defined, and return what it prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block.text, block.place, "exec"), names)
    return printed.getvalue()


def title(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.usefixtures("small_suites")
@pytest.mark.parametrize("document", DOCUMENTS, ids=title)
def test_what_a_document_says_works(document: Path, folder: Path) -> None:
    follow(document, folder)


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS, ids=title)
def test_what_a_document_says_works_with_the_whole_suites(document: Path, folder: Path) -> None:
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
