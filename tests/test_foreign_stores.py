"""Stores that attack their reader through SQLite are refused in one line, within limits of time, memory and disk.

`tests/sqlite_tricks.py` has the tricks. A few do not affect reading; the store is then read as before.
"""

import os
import resource
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import sqlite_tricks
from command_template import Template
from pcielab import open_store
from pcielab._core import InputError, StoreWriter
from shell import Done, exit_code_of_command, exported, forked, succeed
from sqlite_tricks import TRICKS, VICTIM, plain_name, tree_without_end
from suite_texts import suite_text, transfers

SECONDS, MEMORY_BYTES, FILE_BYTES = 15, 3 << 30, 256 << 20
"""Limits of a command's processor time, address space and file size: many times its needs."""
JOURNAL = "a journal that names a file"
SUITE = suite_text(transfers("lat_dma_details", "LAT_DMA_RD", 64, 128, transactions=200, details=True))


def _limited(arguments: list[str], stdout: int, stderr: int) -> int:
    """Run a command within the limits, in a process forked for it."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    return exit_code_of_command(arguments, stdout, stderr)


_TEMPLATE = Template(_limited)


def limited(*arguments: str | Path) -> Done:
    return forked(_TEMPLATE, *arguments)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    (folder / "suite.toml").write_text(SUITE)
    succeed("run", "--suite", folder / "suite.toml", "--jobs", "1", "-o", folder / "run.db")
    return folder / "run.db"


@pytest.fixture(scope="module")
def tricked(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store for each trick."""
    folder = tmp_path_factory.mktemp("tricked")
    for name, trick in TRICKS.items():
        # Each has its own folder, because some tricks add files.
        path = folder / plain_name(name) / "run.db"
        path.parent.mkdir()
        path.write_bytes(sound.read_bytes())
        trick(path)
    return folder


@pytest.mark.parametrize("name", TRICKS)
def test_a_trick_is_refused_or_has_no_effect(
    name: str, sound: Path, tricked: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("tried", 1)
    store = tricked / plain_name(name) / "run.db"
    output = store.with_suffix(".json")
    suite = sound.with_name("suite.toml")
    run = ("run", "--profile", "hsw2620", "--suite", suite, "--jobs", "1", "-o", store, "--resume")
    commands: tuple[tuple[str | Path, ...], ...] = (
        ("export", "json", store, "-o", output, "--overwrite"),
        ("explain", store),
        ("why", store),
        ("compare", sound, store),
        run,
        (*run, "--repeat-damaged"),
    )
    for command in commands:
        done = limited(*command)
        about = f"{name}: {command[0]}: exit code {done.exit_code}: {done.stderr[-400:]}"
        assert done.exit_code in (0, 2), about
        if done.exit_code == 2:
            assert len(done.stderr.splitlines()) == 1, about
            assert str(store) in done.stderr, about
        if done.exit_code == 0 and command[0] == "export":
            assert output.read_bytes() == exported(sound), about
    assert sorted(path.name for path in store.parent.iterdir() if path.name.startswith("etilqs")) == []
    if name == JOURNAL:
        assert store.with_name(VICTIM).exists(), "somebody's file was deleted"


def test_a_folder_with_hostile_stores_can_be_listed(tricked: Path) -> None:
    done = limited("runs", tricked, "--format", "csv")
    assert done.exit_code == 0, f"{done.exit_code}: {done.stderr[-300:]}"
    assert len(done.stdout.splitlines()) == len(TRICKS) + 1
    assert (tricked / plain_name(JOURNAL) / VICTIM).exists(), "somebody's file was deleted"


def test_digests_are_checked_whatever_schema_the_store_declares(sound: Path, tmp_path: Path) -> None:
    for change in ("UPDATE scalar SET value = 2 * value", "UPDATE manifest SET value = '1' WHERE key = 'tests'"):
        for version in (1, 2):
            path = tmp_path / f"{version}.db"
            path.write_bytes(sound.read_bytes())
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute(change)
                connection.execute(f"PRAGMA user_version = {version}")
            with pytest.raises(InputError, match=r"is damaged|is not a pcielab store of schema 1"):
                [*open_store(path).records()]


def test_the_refusal_says_which_table_and_why(sound: Path, tmp_path: Path) -> None:
    expected = {
        "manifest is an endless view": "`manifest` is a view",
        "a trigger": "`more` is a trigger",
        "one table more": "`more` is a table that no store has",
        "a table is gone": "`attachment` is missing",
        "a virtual table": "that no store has",
        "another check": "`manifest` is another table",
        "a generated column": "`manifest` is another table",
        "schema 1, with the tables of schema 2": "schema 1",
    }
    for name, reason in expected.items():
        path = tmp_path / f"{plain_name(name)}.db"
        path.write_bytes(sound.read_bytes())
        TRICKS[name](path)
        with pytest.raises(InputError) as refused:
            open_store(path)
        assert reason in str(refused.value), f"{name}: {refused.value}"


@pytest.fixture
def interrupted() -> Iterator[None]:
    """Ctrl-C, after a quarter of a second of this process's work."""
    keyboard = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = signal.signal(signal.SIGPROF, lambda _number, _frame: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_PROF, 0.25)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, timer)
    signal.signal(signal.SIGINT, keyboard)


@pytest.mark.usefixtures("interrupted")
def test_reading_ends_at_ctrl_c(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    path.write_bytes(sound.read_bytes())
    tree_without_end(path)
    # Large enough on the disk that reading it takes minutes of work: only Ctrl-C ends this soon.
    with path.open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, 64 << 20)
        file.truncate(1 << 40)
    started = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        open_store(path)
    assert time.process_time() - started < SECONDS


def test_a_store_of_the_largest_size_is_read(tmp_path: Path) -> None:
    """The guards against endless stores do not limit large ones."""
    path = tmp_path / "run.db"
    series = [{"metric": "latency_ticks", "values": [float(value % 97) for value in range(1 << 20)]}]
    with StoreWriter.create(path, '{"origin": "simulated"}') as writer:
        record = '{"id": 0, "family": "f", "name": "n", "parameters": "{}", "status": "ok", "series": %s}'
        writer.write_test(record % str(series).replace("'", '"'))
        writer.attach("sys-lspci.txt", "x" * (30 << 20))
    store = open_store(path)
    assert len(store.series(0)) == 1 << 20
    assert len(store.attachments["sys-lspci.txt"]) == 30 << 20


assert len(TRICKS) >= 14, sqlite_tricks.__doc__
