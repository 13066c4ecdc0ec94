"""Output of commands that are killed, or fail, at any of the system calls that change files.

They leave the old output, the whole new one, or an incomplete store that can be resumed; the next command works
and leaves no other files. `make faults` tries every call; these tests try some.
"""

import errno
import json
import os
import pickle
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import pytest

import faults
from command_template import Template
from faults import Fault
from pcielab import InputError, open_store
from pcielab.formats.exporters import export
from pcielab.formats.importers import import_pcie_bench
from pcielab.formats.published import BANDWIDTH_HEAD
from pcielab.sweeps.journal import NAME as JOURNAL
from shell import exit_code_of_command, forked, pcielab
from suite_texts import LSPCI, messages, suite_text, transfers

pytestmark = pytest.mark.skipif(not faults.is_possible(), reason="processes cannot be traced here")

ASKED = os.environ.get("PCIELAB_FAULTS", "3")
EVERY = ASKED == "all"
TRIED = 0 if EVERY else int(ASKED)
"""Number of faults to try for each command, spread over all of them; not used if every one is tried."""

ROW = (
    "BW_DMA_RD,Rand,HWarm,0,0,8192,16,151242672,126035560.0,134217728,8388608,8.519356156310172,66557469.97117322"
)
SUITE = suite_text(transfers("bw_dma_sz_sweep", "BW_DMA_RD", 64, 128, 256, 512, transactions=2000))
MESSAGE_SUITE = suite_text(messages("messages", "write-combined descriptors", 64, 1500, messages=4))
SWEEP_FILE = """\
name = "sizes"
title = "Reads of some sizes"
system = "snb"
[test]
test = "lat-rd"
[grid]
size = [8, 16, 64, 256]
"""
RUN = ("run", "--profile", "hsw2620", "--suite", "suite.toml", "--jobs", "1", "-o", "run.db")


def _traced(arguments: list[str], stdout: int, stderr: int) -> int:
    """Trace a command in a process forked for it, with the fault in JSON; writes its end to the named file."""
    asked, result, *words = arguments
    given = json.loads(asked)
    ended = faults.traced(
        lambda: exit_code_of_command(words, stdout, stderr), Path.cwd(), Fault(**given) if given else None
    )
    Path(result).write_bytes(pickle.dumps(ended))
    return 0


_TEMPLATE = Template(_traced)
"""Not this process: a test that ran before may have started threads, for which a fork of it waits for ever."""


@dataclass(frozen=True)
class Case:
    """A command and its output.

    Attributes:
        arguments: The command.
        output: The file or folder that it writes.
        again: The command to run after it failed.
        prepare: Creates the files that exist before the command runs.
    """

    arguments: tuple[str, ...]
    output: str
    again: tuple[str, ...]
    prepare: Callable[[Path], None] = lambda _folder: None


def old_store(folder: Path) -> None:
    import_pcie_bench(folder / "published", folder / "run.db")


def half_a_run(folder: Path) -> None:
    for name, left in files_of_half_a_run().items():
        (folder / name).write_bytes(left)


@cache
def files_of_half_a_run() -> dict[str, bytes]:
    """The store and the log of a run that was killed after its first test."""
    for index in range(40, 400, 7):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "suite.toml").write_text(SUITE)
            command(RUN, folder, Fault(index))
            left = {path.name: path.read_bytes() for path in folder.glob("run.db*")}
            if left and 0 < open_store(folder / "run.db").done < 4:
                return left
    raise AssertionError("no run was killed between its first and last test")


def half_a_sweep(folder: Path) -> None:
    for name, left in files_of_half_a_sweep().items():
        (folder / "out").mkdir(exist_ok=True)
        (folder / "out" / name).write_bytes(left)


@cache
def files_of_half_a_sweep() -> dict[str, bytes]:
    """The journal of a sweep whose disk was full in the middle of a line."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sizes.toml").write_text(SWEEP_FILE)
        command(SWEEP, folder)
        journal = (folder / "out" / JOURNAL).read_bytes()
        return {JOURNAL: journal[: journal.index(b"\n") + 100]}


def old_export(folder: Path) -> None:
    old_store(folder)
    export(open_store(folder / "run.db"), "pcie-bench", folder / "out")
    export(open_store(folder / "run.db"), "csv", folder / "out.csv")


def old_text(folder: Path) -> None:
    (folder / "machine.toml").write_text("old")


IMPORT = ("import", "pcie-bench", "published", "-o", "run.db")
MESSAGES = ("run", "--profile", "kpio-2012", "--suite", "messages.toml", "-o", "run.db")
FABRIC = ("fabric", "run", "fabrex-u55c", "--flows", "latency", "--duration-us", "20", "-o", "run.db")
EXPORT = ("export", "pcie-bench", "run.db", "-o", "out", "--overwrite")
CSV = ("export", "csv", "run.db", "-o", "out.csv", "--overwrite")
SKELETON = ("profiles", "skeleton", "--lspci", "lspci.txt", "-o", "machine.toml", "--overwrite")
SWEEP = ("sweep", "sizes.toml", "--jobs", "1", "-o", "out")
OVERWRITE = ("--overwrite",)
CASES = {
    "import": Case(IMPORT, "run.db", IMPORT + OVERWRITE),
    "import over a store": Case(IMPORT + OVERWRITE, "run.db", IMPORT + OVERWRITE, old_store),
    "run": Case(RUN, "run.db", (*RUN, "--resume")),
    "run over a store": Case(RUN + OVERWRITE, "run.db", RUN + OVERWRITE, old_store),
    "run that goes on": Case((*RUN, "--resume"), "run.db", (*RUN, "--resume"), half_a_run),
    "messages": Case(MESSAGES, "run.db", (*MESSAGES, "--resume")),
    "messages over a store": Case(MESSAGES + OVERWRITE, "run.db", MESSAGES + OVERWRITE, old_store),
    "fabric run": Case(FABRIC, "run.db", (*FABRIC, "--resume")),
    "fabric run over a store": Case(FABRIC + OVERWRITE, "run.db", FABRIC + OVERWRITE, old_store),
    "export of a folder": Case(EXPORT, "out", EXPORT, old_export),
    "export of a file": Case(CSV, "out.csv", CSV, old_export),
    "sweep": Case(SWEEP, "out", (*SWEEP, "--resume")),
    "sweep that goes on": Case((*SWEEP, "--resume"), "out", (*SWEEP, "--resume"), half_a_sweep),
    "profiles skeleton": Case(SKELETON, "machine.toml", SKELETON, old_text),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], Path]:
    """Makes folders with the inputs of all commands, and the files that a case prepares."""
    above = tmp_path_factory.mktemp("faults")
    made = 0

    def make(case: Case) -> Path:
        nonlocal made
        made += 1
        folder = above / f"{made:04}"
        (folder / "published").mkdir(parents=True)
        rows = "\r\n".join([",".join(BANDWIDTH_HEAD), ROW, ROW, ""])
        (folder / "published" / "bw_dma_sz_sweep.csv").write_bytes(rows.encode())
        (folder / "suite.toml").write_text(SUITE)
        (folder / "messages.toml").write_text(MESSAGE_SUITE)
        (folder / "sizes.toml").write_text(SWEEP_FILE)
        (folder / "lspci.txt").write_text(LSPCI)
        case.prepare(folder)
        return folder

    return make


def command(arguments: tuple[str, ...], folder: Path, fault: Fault | None = None) -> tuple[faults.Traced, str]:
    """Run a command with a fault; returns its end and its stderr."""
    with tempfile.NamedTemporaryFile() as result:
        asked = json.dumps(asdict(fault) if fault else None)
        done = forked(_TEMPLATE, asked, result.name, *arguments, cwd=folder)
        assert done.exit_code == 0, done.stderr
        ended: faults.Traced = pickle.loads(result.read())
        return ended, done.stderr


def content(path: Path) -> object:
    """The reproducible content of a path; None if it does not exist."""
    if path.is_dir():
        return {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
    if path.suffix != ".db":
        return path.read_bytes() if path.exists() else None
    try:
        store = open_store(path)
    except InputError:
        assert not path.exists(), f"{path} cannot be read"
        return None
    return store.title, store.extent, list(store.records()), store.attachments


def tried(calls: int) -> list[Fault]:
    """The faults of a command that changes files in `calls` calls: each kind at each call, or some of them."""
    every = [Fault(index, kind) for index in range(calls) for kind in (None, errno.ENOSPC, errno.EIO)]
    if EVERY:
        return every
    chosen = {round(one * (len(every) - 1) / max(TRIED - 1, 1)) for one in range(TRIED)}
    return [every[index] for index in sorted(chosen)]


def holds_a_journal(found: object, before: object, after: object) -> bool:
    """Whether the journal of a sweep's folder begins with the old lines, and has whole lines of the new ones."""
    journals = [folder.get(JOURNAL, b"") if isinstance(folder, dict) else b"" for folder in (found, before, after)]
    left, had, gets = [journal.rpartition(b"\n")[0] for journal in journals]
    return bool(left.startswith(had) and gets.startswith(left))


@dataclass(frozen=True)
class Undisturbed:
    """A case that ran without a fault: its calls, its folder, the output before and after, and all files."""

    traced: faults.Traced
    folder: Path
    before: object
    after: object
    files: list[Path]


@cache
def undisturbed(case: Case, folders: Callable[[Case], Path]) -> Undisturbed:
    # In a folder that is not used again: reading a store may merge its log.
    before = content(folders(case) / case.output)
    folder = folders(case)
    traced, stderr = command(case.arguments, folder)
    assert traced.exit_code == 0, stderr
    return Undisturbed(traced, folder, before, content(folder / case.output), files_of(folder))


def files_of(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


def repeat(case: Case, folder: Path, whole: Undisturbed, about: str) -> None:
    """Run the command for after a failure; it must leave the files of an undisturbed run."""
    repeated = pcielab(*case.again, cwd=folder)
    assert repeated.exit_code == 0, f"{about}\nthen: {repeated.stderr}"
    assert content(folder / case.output) == whole.after, about
    assert files_of(folder) == whole.files, about


@pytest.mark.parametrize("name", CASES)
def test_a_fault_leaves_the_old_or_the_new_output_and_no_other_files(
    name: str, folders: Callable[[Case], Path], record_property: Callable[[str, object], None]
) -> None:
    case = CASES[name]
    whole = undisturbed(case, folders)
    before, after, calls = whole.before, whole.after, whole.traced.calls
    for fault in tried(len(calls)):
        record_property("tried", 1)
        folder = folders(case)
        ended, stderr = command(case.arguments, folder, fault)
        about = f"{name}, {fault} ({calls[min(fault.index, len(calls) - 1)]}): {stderr}"
        assert "Traceback" not in stderr, about
        assert "internal error" not in stderr, about
        found = content(folder / case.output)
        if name.startswith("sweep"):
            assert holds_a_journal(found, before, after), about
        elif found not in (before, after):
            store = open_store(folder / case.output)
            assert name.startswith(("run", "messages", "fabric run")), about
            assert store.incomplete, about
            assert store.title == after[0], about  # type: ignore[index]
        assert ended.exit_code != 0 or found == after, about
        repeat(case, folder, whole, about)


WRITES_STORES = ("import", "run", "run that goes on", "messages", "fabric run")


@pytest.mark.parametrize("name", WRITES_STORES)
def test_a_failed_sync_is_an_error_unless_a_later_one_repeats_it(
    name: str, folders: Callable[[Case], Path], record_property: Callable[[str, object], None]
) -> None:
    case = CASES[name]
    whole = undisturbed(case, folders)
    # No later sync repairs a failure of the last one of a file or folder. The hidden folder does not remain.
    synced = {index: target for index, target in whole.traced.synced.items() if target.suffix != ".pcielab-tmp"}
    last = {target: index for index, target in synced.items()}
    assert len(last) > 1
    fatal = sorted(last.values())
    for index in fatal if EVERY else fatal[-6:]:
        folder = folders(case)
        fault = same_sync(whole, index, folder)
        ended, stderr = command(case.arguments, folder, fault)
        record_property("tried", 1)
        about = f"{name}, {fault}: {stderr}"
        assert ended.exit_code == 1, about
        assert stderr.startswith("error: run.db: "), about
        assert len(stderr.splitlines()) == 1, about
        if name != "import":
            # Every finished test is in the store or in its log.
            left = [path for path in folder.glob("run.db*") if path.is_file()]
            assert not left or open_store(folder / "run.db").done in range(5), about
        repeat(case, folder, whole, about)


def same_sync(whole: Undisturbed, index: int, folder: Path) -> Fault:
    """The failure in `folder` of the sync that was call `index` of the undisturbed run."""
    synced = whole.traced.synced
    target = synced[index]
    before = sum(earlier < index and other.name == target.name for earlier, other in synced.items())
    return Fault(before, errno.EIO, synced=folder.name if target == whole.folder else target.name)


def test_the_log_remains_if_it_cannot_be_merged_into_the_store(folders: Callable[[Case], Path]) -> None:
    case = CASES["run"]
    whole = undisturbed(case, folders)
    synced = whole.traced.synced
    logs = [index for index, target in synced.items() if target.name == "run.db-wal"]
    stores = [index for index, target in synced.items() if target.name == "run.db" and index > min(logs)]
    # The log is synced before its merge into the store, and then the store is.
    for index in (max(logs), min(stores)):
        folder = folders(case)
        fault = same_sync(whole, index, folder)
        ended, stderr = command(case.arguments, folder, fault)
        assert ended.exit_code == 1, stderr
        assert "could not be synced to the disk" in stderr
        assert (folder / "run.db-wal").stat().st_size > 0, index
        assert open_store(folder / "run.db").done == 4


def test_a_run_killed_as_its_store_appears_leaves_no_other_files(folders: Callable[[Case], Path]) -> None:
    case = CASES["run"]
    whole = undisturbed(case, folders)
    renamed = whole.traced.calls.index("renameat2")
    for index in range(renamed, renamed + 3):
        folder = folders(case)
        command(case.arguments, folder, Fault(index))
        repeat(case, folder, whole, f"killed at call {index}")
