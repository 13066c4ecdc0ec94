"""`pcielab` as people start it: a process of its own, with its exit code and its two streams."""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pcielab.analysis.calibrate
import pcielab.analysis.compare
import pcielab.analysis.explain
import pcielab.analysis.validate  # all of them loaded here, once, for the commands that are forked from here
import pcielab.devices.running
import pcielab.fabric
import pcielab.report
from command_template import Command, Template
from patience import HANGS_AFTER_SECONDS
from pcielab import open_store
from pcielab.cli import main
from pcielab.formats.exporters import export
from pcielab.library import shipped

PCIELAB = str(Path(sys.executable).with_name("pcielab"))


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    exit_code: int
    stdout: str
    stderr: str


def pcielab(*arguments: str | Path, cwd: Path | None = None) -> Done:
    """Run a command to its end.

    Its process is forked from one where everything has been loaded: refusing a bad input takes a fiftieth of the
    time that Python takes to start.
    """
    return forked(_TEMPLATE, *arguments, cwd=cwd)


def forked(template: Template, *arguments: str | Path, cwd: Path | None = None) -> Done:
    """Run a command to its end, the way that a template has it."""
    command = Command([*map(str, arguments)], str(cwd or Path.cwd()), dict(os.environ), shipped._ROOT)
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        exit_code = template.run(command, stdout.fileno(), stderr.fileno())
        texts = []
        for stream in (stdout, stderr):
            stream.seek(0)
            texts.append(stream.read().decode())
    return Done(exit_code, *texts)


def exit_code_of_command(arguments: list[str], stdout: int, stderr: int) -> int:
    """Run a command in this process, which should be one forked for it."""
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


_TEMPLATE = Template(exit_code_of_command)


def succeed(*arguments: str | Path) -> Done:
    """Run a command that must succeed."""
    done = pcielab(*arguments)
    assert done.exit_code == 0, done.stderr
    return done


def stop_after(tests: int, signal_number: int, store: Path, *arguments: str | Path) -> Done:
    """Start a command that writes `store`, and send it a signal as soon as that many tests are stored."""
    process = subprocess.Popen(
        [PCIELAB, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that starts pytest in the background has it ignore Ctrl-C; a person's terminal does not.
        preexec_fn=_heed_interrupts,
    )
    started = time.monotonic()
    while process.poll() is None and stored(store) < tests and time.monotonic() - started < HANGS_AFTER_SECONDS:
        time.sleep(0.002)
    process.send_signal(signal_number)
    stdout, stderr = process.communicate(timeout=HANGS_AFTER_SECONDS)
    return Done(process.returncode, stdout, stderr)


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def stored(path: Path) -> int:
    """How many tests a store has, while it is being written too; 0 before there is one.

    A copy is looked at: whoever reads the store itself keeps a run from being resumed at that moment.
    """
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("", "-wal"):
            with suppress(FileNotFoundError):
                (Path(folder) / f"copy.db{suffix}").write_bytes(path.with_name(path.name + suffix).read_bytes())
        try:
            with closing(sqlite3.connect(Path(folder) / "copy.db")) as connection:
                return int(connection.execute("SELECT count(*) FROM test").fetchone()[0])
        except sqlite3.DatabaseError:  # there is none yet, or it changed while it was copied
            return 0


def exported(store: Path) -> bytes:
    """The store as `export json` writes it."""
    output = store.with_suffix(".json")
    export(open_store(store), "json", output, overwrite=True)
    return output.read_bytes()


def is_superuser() -> bool:
    """Whether permissions do not hold this user back."""
    return os.geteuid() == 0
