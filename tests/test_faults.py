"""What a command leaves behind that is killed, or fails, at any of the calls by which it changes files.

Either what was there before, or the whole new thing, or a store that says that it is incomplete and can be gone on
with; the next command works, and leaves nothing else lying about. `make faults` tries every call; here are some.
"""

import errno
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import faults
from faults import Fault
from pcielab import InputError, open_store
from pcielab.formats.exporters import export
from pcielab.formats.importers import import_pcie_bench
from pcielab.formats.published import BANDWIDTH_HEAD
from pcielab.sweeps.journal import NAME as JOURNAL
from shell import exit_code_of_command, pcielab

pytestmark = pytest.mark.skipif(not faults.is_possible(), reason="processes cannot be traced here")

ASKED = os.environ.get("PCIELAB_FAULTS", "4")
EVERY = ASKED == "all"
TRIED = 0 if EVERY else int(ASKED)
"""How many faults of each command are tried here, spread over all of them, unless every one is."""

ROW = (
    "BW_DMA_RD,Rand,HWarm,0,0,8192,16,151242672,126035560.0,134217728,8388608,8.519356156310172,66557469.97117322"
)
SUITE = """\
name = "mine"
title = "Mine"
[provenance]
source = "me"
[[group]]
family = "bw_dma_sz_sweep"
tests = ["BW_DMA_RD"]
sizes = [64, 128, 256, 512]
windows = ["8K"]
caches = ["cold"]
patterns = ["random"]
transactions = 2000
loop = ["size"]
"""
MESSAGE_SUITE = """\
name = "mine"
title = "Mine"
[provenance]
source = "me"
[[group]]
family = "messages"
ways = ["write-combined", "descriptors"]
sizes = [64, 1500]
pace = "alone"
messages = 4
loop = ["way", "size"]
"""
SWEEP_FILE = """\
name = "sizes"
title = "Reads of some sizes"
system = "snb"
[test]
test = "lat-rd"
[grid]
size = [8, 16, 64, 256]
"""
LSPCI = """\
03:00.0 Ethernet controller: Netronome Systems, Inc. Device 4000 (rev 30)
\tControl: I/O- Mem+ BusMaster+
\tCapabilities: [80] Express (v2) Endpoint, MSI 00
\t\tDevCtl: MaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCap: Port #0, Speed 8GT/s, Width x8, ASPM not supported
\t\tLnkSta: Speed 8GT/s (ok), Width x8 (ok)
"""
RUN = ("run", "--profile", "hsw2620", "--suite", "suite.toml", "--jobs", "1", "-o", "run.db")


@dataclass(frozen=True)
class Case:
    """A command, what it writes, and what stands there before.

    Attributes:
        arguments: The command.
        output: What it writes.
        again: The command that a person gives after it failed, whatever is there.
        prepare: Puts there what is there before.
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
    """What a run leaves that was killed on its way, log and all."""
    for place in range(40, 400, 7):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "suite.toml").write_text(SUITE)
            command(RUN, folder, Fault(place))
            left = {path.name: path.read_bytes() for path in folder.glob("run.db*")}
            if left and 0 < open_store(folder / "run.db").done < 4:
                return left
    raise AssertionError("no run was killed on its way")


def half_a_sweep(folder: Path) -> None:
    for name, left in files_of_half_a_sweep().items():
        (folder / "out").mkdir(exist_ok=True)
        (folder / "out" / name).write_bytes(left)


@cache
def files_of_half_a_sweep() -> dict[str, bytes]:
    """What a sweep leaves whose disk was full in the middle of a line."""
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
MESSAGES = ("run", "--suite", "messages.toml", "-o", "run.db")
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


@pytest.fixture
def folders(tmp_path: Path) -> Callable[[Case], Path]:
    """Makes folders with what the commands read, and with what a case wants to be there before."""
    made = 0

    def make(case: Case) -> Path:
        nonlocal made
        made += 1
        folder = tmp_path / str(made)
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
    """Run a command under a fault; how it ended, and what it said on stderr."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:

        def run() -> int:
            os.chdir(folder)
            return exit_code_of_command([*arguments], stdout.fileno(), stderr.fileno())

        ended = faults.traced(run, folder, fault)
        stderr.seek(0)
        return ended, stderr.read().decode()


def content(path: Path) -> object:
    """What is at a path, as far as it is the same whenever a command makes it: a store says how much it has."""
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
    """The faults of a command that changes files so often: each call at each kind, or some of them."""
    every = [Fault(place, kind) for place in range(calls) for kind in (None, errno.ENOSPC, errno.EIO)]
    if EVERY:
        return every
    chosen = {round(one * (len(every) - 1) / max(TRIED - 1, 1)) for one in range(TRIED)}
    return [every[place] for place in sorted(chosen)]


def holds_a_journal(found: object, before: object, after: object) -> bool:
    """Whether a folder of a sweep has the lines that it had, and whole lines of those that it gets."""
    journals = [folder.get(JOURNAL, b"") if isinstance(folder, dict) else b"" for folder in (found, before, after)]
    left, had, gets = [journal.rpartition(b"\n")[0] for journal in journals]
    return bool(left.startswith(had) and gets.startswith(left))


@pytest.mark.parametrize("name", CASES)
def test_a_command_that_ends_anywhere_leaves_old_or_new_and_no_litter(
    name: str, folders: Callable[[Case], Path], record_property: Callable[[str, object], None]
) -> None:
    case = CASES[name]
    undisturbed = folders(case)
    before = content(undisturbed / case.output)
    whole, stderr = command(case.arguments, undisturbed)
    assert whole.exit_code == 0, stderr
    after = content(undisturbed / case.output)
    files = sorted(path.relative_to(undisturbed) for path in undisturbed.rglob("*"))
    for fault in tried(len(whole.calls)):
        record_property("tried", 1)
        folder = folders(case)
        ended, stderr = command(case.arguments, folder, fault)
        about = f"{name}, {fault} ({whole.calls[min(fault.place, len(whole.calls) - 1)]}): {stderr}"
        assert "Traceback" not in stderr, about
        assert "a defect of pcielab" not in stderr, about
        found = content(folder / case.output)
        if name.startswith("sweep"):
            assert holds_a_journal(found, before, after), about
        elif found not in (before, after):
            store = open_store(folder / case.output)
            assert name.startswith(("run", "messages", "fabric run")), about
            assert store.incomplete, about
            assert store.title == after[0], about  # type: ignore[index]
        assert ended.exit_code != 0 or found == after, about
        repeated = pcielab(*case.again, cwd=folder)
        assert repeated.exit_code == 0, f"{about}\nthen: {repeated.stderr}"
        assert content(folder / case.output) == after, about
        assert sorted(path.relative_to(folder) for path in folder.rglob("*")) == files, about


WRITES_STORES = ("import", "run", "run that goes on", "messages", "fabric run")


@pytest.mark.parametrize("name", WRITES_STORES)
def test_a_sync_that_fails_is_told_unless_the_same_is_synced_again(
    name: str, folders: Callable[[Case], Path], record_property: Callable[[str, object], None]
) -> None:
    case = CASES[name]
    undisturbed = folders(case)
    whole, stderr = command(case.arguments, undisturbed)
    assert whole.exit_code == 0, stderr
    after = content(undisturbed / case.output)
    files = sorted(path.name for path in undisturbed.iterdir())
    # Whatever was synced last of a file or folder, nobody makes good what failed there. The hidden folder goes.
    synced = {place: target for place, target in whole.synced.items() if target.suffix != ".pcielab-tmp"}
    last = {target: place for place, target in synced.items()}
    assert len(last) > 1
    fatal = sorted(last.values())
    for place in fatal if EVERY else fatal[-6:]:
        folder = folders(case)
        fault = sync_of_the_same(whole, place, undisturbed, folder)
        ended, stderr = command(case.arguments, folder, fault)
        record_property("tried", 1)
        about = f"{name}, {fault}: {stderr}"
        assert ended.exit_code == 1, about
        assert stderr.startswith("error: run.db: "), about
        assert len(stderr.splitlines()) == 1, about
        if name != "import":
            # Every test that was finished is there, in the store or in the log beside it.
            left = [path for path in folder.glob("run.db*") if path.is_file()]
            assert not left or open_store(folder / "run.db").done in range(5), about
        repeated = pcielab(*case.again, cwd=folder)
        assert repeated.exit_code == 0, f"{about}\nthen: {repeated.stderr}"
        assert content(folder / case.output) == after, about
        assert sorted(path.name for path in folder.iterdir()) == files, about


def sync_of_the_same(whole: faults.Traced, place: int, undisturbed: Path, folder: Path) -> Fault:
    """The failure in `folder` of the sync that was call `place` in the folder that nothing disturbed."""
    target = whole.synced[place]
    before = sum(earlier < place and other.name == target.name for earlier, other in whole.synced.items())
    return Fault(before, errno.EIO, synced=folder.name if target == undisturbed else target.name)


def test_the_log_stays_where_it_could_not_be_brought_into_the_store(folders: Callable[[Case], Path]) -> None:
    case = CASES["run"]
    undisturbed = folders(case)
    whole, stderr = command(case.arguments, undisturbed)
    assert whole.exit_code == 0, stderr
    in_place = {place: target.name for place, target in whole.synced.items() if target.name.startswith("run.db")}
    # The log is synced as it is brought into the store, and then the store is.
    for place in (
        max(place for place, name in in_place.items() if name == "run.db-wal"),
        next(place for place, name in in_place.items() if name == "run.db" and place > _first_log(whole)),
    ):
        folder = folders(case)
        fault = sync_of_the_same(whole, place, undisturbed, folder)
        ended, stderr = command(case.arguments, folder, fault)
        assert ended.exit_code == 1, stderr
        assert "could not be brought to the disk" in stderr
        assert (folder / "run.db-wal").stat().st_size > 0, place
        assert open_store(folder / "run.db").done == 4


def _first_log(whole: faults.Traced) -> int:
    """The place of the first sync of the log in its place."""
    return min(place for place, target in whole.synced.items() if target.name == "run.db-wal")


def test_nothing_is_left_of_a_run_that_was_killed_once_its_store_was_there(
    folders: Callable[[Case], Path],
) -> None:
    case = CASES["run"]
    undisturbed = folders(case)
    whole, stderr = command(case.arguments, undisturbed)
    assert whole.exit_code == 0, stderr
    files = sorted(path.name for path in undisturbed.iterdir())
    put = whole.calls.index("renameat2")
    for place in range(put, put + 3):
        folder = folders(case)
        command(case.arguments, folder, Fault(place))
        repeated = pcielab(*case.again, cwd=folder)
        assert repeated.exit_code == 0, repeated.stderr
        assert sorted(path.name for path in folder.iterdir()) == files, f"killed at call {place}"
