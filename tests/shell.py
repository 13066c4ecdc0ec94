"""`pcielab` as people start it: a separate process with an exit code, stdout and stderr."""

import importlib
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import traceback
from contextlib import closing, redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from all_modules import load, module_names
from command_template import Command, Template
from patience import HANGS_AFTER_SECONDS
from pcielab import open_store
from pcielab.cli import main, progress
from pcielab.formats.exporters import export
from pcielab.library import shipped

PCIELAB = str(Path(sys.executable).with_name("pcielab"))


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    exit_code: int
    stdout: str
    stderr: str


def pcielab(*arguments: str | Path, cwd: Path | None = None) -> Done:
    """Run a command to its end, forked from a process with all modules loaded: fifty times faster than a start."""
    return forked(_TEMPLATE, *arguments, cwd=cwd)


def forked_into(stdout: int, stderr: int, *arguments: str | Path, environment: dict[str, str]) -> int:
    """As `pcielab`, with these open files as streams, for example a terminal; returns the exit code."""
    return _TEMPLATE.run(
        Command([*map(str, arguments)], str(Path.cwd()), environment, shipped._ROOT), stdout, stderr
    )


def forked(template: Template, *arguments: str | Path, cwd: Path | None = None) -> Done:
    """Run a command to its end in a process forked from `template`."""
    command = Command([*map(str, arguments)], str(cwd or Path.cwd()), dict(os.environ), shipped._ROOT)
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        exit_code = template.run(command, stdout.fileno(), stderr.fileno())
        texts = []
        for stream in (stdout, stderr):
            stream.seek(0)
            texts.append(stream.read().decode())
    return Done(exit_code, *texts)


def exit_code_of_command(arguments: list[str], stdout: int, stderr: int) -> int:
    """Run a command in this process, which must have been forked for it."""
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    sys.argv = ["pcielab", *arguments]
    code: object = 0
    try:
        main()
    except SystemExit as exited:
        code = exited.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else 1


def _load_modules() -> None:
    """Load every module that a command may need, once for all that are forked from this process.

    A command is carried out here, too: files that it has parsed, and what libraries set up when they are first
    called, are then there in every process.
    """
    load(module_names())
    for name in ("rich.table", "rich.traceback", "typer.rich_utils"):
        importlib.import_module(name)
    words = ["pcielab", "profiles", "list"]
    with patch.object(sys, "argv", words), redirect_stdout(StringIO()), suppress(SystemExit):
        main()


def _exit_code_of_stopped_command(arguments: list[str], stdout: int, stderr: int) -> int:
    """As `exit_code_of_command`, after the number of tests at which the process gets a signal, and the signal."""
    tests, signal_number, *words = arguments
    shown, is_sent = progress.Bar.update, False

    def update(bar: progress.Bar, done: int, total: int, step: str, name: str = "") -> None:
        nonlocal is_sent
        shown(bar, done, total, step, name)
        if done >= int(tests) and not is_sent:
            is_sent = True
            os.kill(os.getpid(), int(signal_number))

    with patch.object(progress.Bar, "update", update):
        return exit_code_of_command(words, stdout, stderr)


_load_modules()
_TEMPLATE = Template(exit_code_of_command)
_STOPPED = Template(_exit_code_of_stopped_command)


def succeed(*arguments: str | Path, cwd: Path | None = None) -> Done:
    """Run a command that must succeed."""
    done = pcielab(*arguments, cwd=cwd)
    assert done.exit_code == 0, done.stderr
    return done


def refuse(*arguments: str | Path, cwd: Path | None = None) -> str:
    """Run a command that must refuse its input: exit code 2 and nothing on stdout. Returns its stderr."""
    done = pcielab(*arguments, cwd=cwd)
    assert (done.exit_code, done.stdout) == (2, ""), done.stderr
    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr
    return done.stderr


def started(*arguments: str | Path, **options: Any) -> "subprocess.Popen[str]":
    """Start a command that Ctrl-C can stop; `options` are those of `Popen`."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([PCIELAB, *map(str, arguments)], preexec_fn=heed_interrupts, **(streams | options))


def heed_interrupts() -> None:
    """Let SIGINT end this process: a shell that starts pytest in the background makes it ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ended(process: "subprocess.Popen[str]") -> Done:
    """Wait for the end of a process from `started`."""
    stdout, stderr = process.communicate(timeout=HANGS_AFTER_SECONDS)
    return Done(process.returncode, stdout, stderr)


def stop_after(tests: int, signal_number: int, *arguments: str | Path) -> Done:
    """Run a command that gets a signal as soon as it shows, and has therefore stored, that many tests."""
    return forked(_STOPPED, str(tests), str(int(signal_number)), *arguments)


def stored(path: Path) -> int:
    """The number of tests in a store, even while it is being written; 0 before it exists.

    Reads a copy, because an open store cannot be resumed.
    """
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("", "-wal"):
            with suppress(FileNotFoundError):
                (Path(folder) / f"copy.db{suffix}").write_bytes(path.with_name(path.name + suffix).read_bytes())
        try:
            with closing(sqlite3.connect(Path(folder) / "copy.db")) as connection:
                return int(connection.execute("SELECT count(*) FROM test").fetchone()[0])
        except sqlite3.DatabaseError:  # it does not exist yet, or changed while it was copied
            return 0


def exported(store: Path) -> bytes:
    """The store as `export json` writes it."""
    output = store.with_suffix(".json")
    export(open_store(store), "json", output, overwrite=True)
    return output.read_bytes()


def is_superuser() -> bool:
    """Whether file permissions do not apply to this user."""
    return os.geteuid() == 0
