"""All commands end with the same exit codes, whenever they are interrupted or fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pcielab.cli import exits
from pcielab.errors import InputError, RunError, StoppedError
from shell import PCIELAB, heed_interrupts, pcielab, started, succeed

INTERRUPTED_AT = """
import os, signal, sys
class Interruption:
    left = int(sys.argv.pop(1))
    def find_spec(self, *_):
        Interruption.left -= 1
        if Interruption.left == 0:
            os.kill(os.getpid(), signal.SIGINT)
from pcielab.cli import main
sys.meta_path.insert(0, Interruption())
main()
"""
"""Runs a command that receives SIGINT at its nth import."""


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (None, 0),
        (InputError("wrong"), 2),
        (RunError("failed"), 1),
        (StoppedError("stopped"), 130),
        (KeyboardInterrupt(), 130),
        (SystemExit(130), 130),
        (SystemExit(2), 2),
        (SystemExit(), 0),
        (PermissionError(13, "Permission denied", "there"), 1),
        (ZeroDivisionError(), 1),
    ],
)
def test_each_exception_has_its_code(
    raised: BaseException | None, code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        if raised is not None:
            raise raised

    kept = os.dup(1)
    try:
        assert exits.exit_code_of(command) == code
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    said = capfd.readouterr().err
    assert (said == "") == (raised is None or (isinstance(raised, SystemExit) and raised.code != 130))


@pytest.mark.parametrize("imports", [1, 5, 20, 60, 120])
@pytest.mark.parametrize("words", [["model", "bandwidth"], ["run", "-o", "new.db"]])
def test_ctrl_c_while_a_command_loads_is_no_traceback(words: list[str], imports: int, tmp_path: Path) -> None:
    script = [sys.executable, "-c", INTERRUPTED_AT, str(imports), *words]
    done = subprocess.run(
        script, capture_output=True, text=True, cwd=tmp_path, check=False, preexec_fn=heed_interrupts
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", ["model bandwidth", "model bandwidth --format csv", "suites list", "run -h"])
def test_a_closed_stdout_is_an_error(words: str) -> None:
    done = subprocess.run(["sh", "-c", f"{PCIELAB} {words} >&-"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["error: output: Bad file descriptor"]


def test_a_closed_stdout_harms_no_store(tmp_path: Path) -> None:
    """The next file that is opened would get the free descriptor number."""
    command = f"{PCIELAB} run --test bw-rd --transactions 1000 -o run.db >&- 2>&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1  # the row could not be printed
    succeed("export", "csv", "run.db", "-o", "run.csv", cwd=tmp_path)


@pytest.mark.parametrize("lines", [0, 1])
@pytest.mark.parametrize("words", [["-h"], ["run", "-h"], ["suites", "show", "paper", "--format", "csv"]])
def test_a_pipe_that_its_reader_closes_is_no_failure(words: list[str], lines: int) -> None:
    process = started(*words)
    assert process.stdout is not None
    for _ in range(lines):
        process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait() == 0


def test_a_run_without_results_is_a_failure(tmp_path: Path) -> None:
    done = pcielab(
        "run", "--profile", "netfpga-hsw", "--test", "lat-rd", "--path", "command", "-o", "a.db", cwd=tmp_path
    )
    assert done.exit_code == 1
    assert "no command path" in done.stderr
    assert "no test has a result" in done.stderr


@pytest.mark.parametrize("target", ["-", "/dev/stdout"])
@pytest.mark.parametrize(
    ("words", "begin", "end"),
    [
        (("export", "csv", "run.db"), "origin,", "\n"),
        (("export", "json", "run.db"), "{", "}\n"),
        (("compare", "run.db", "run.db"), "<!doctype html>", "</html>"),
        (("report", "run.db"), "<!doctype html>", "</html>"),
    ],
)
def test_an_output_can_be_stdout(
    words: tuple[str, ...], begin: str, end: str, target: str, tmp_path: Path
) -> None:
    succeed("run", "--test", "bw-rd", "--transactions", "1000", "-o", "run.db", cwd=tmp_path)
    done = succeed(*words, "-o", target, cwd=tmp_path)
    assert done.stdout.startswith(begin)
    assert done.stdout.endswith(end)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.db"]


def test_letters_that_an_encoding_lacks_are_escaped(tmp_path: Path) -> None:
    """Of a title, in an answer and in an error."""
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\ntitle = "\u00b5TCA"\nbase = "snb"\n[provenance]\nsource = "me"\n')
    for arguments in (("why", "--test", "bw-rd", "--profile", file), ("explain", tmp_path / "\u00b5.db")):
        ended = subprocess.run(
            [PCIELAB, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONIOENCODING": "ascii"},
        )
        assert "internal error" not in ended.stderr
        assert "\\xb5" in ended.stdout + ended.stderr, ended


def test_a_small_address_space_is_named_and_no_abort(tmp_path: Path) -> None:
    drawn = tmp_path / "why.svg"
    command = 'ulimit -v 4000000; exec "$@"'
    asked = [PCIELAB, "why", "--test", "bw-rd", "--transactions", "100", "-o", str(drawn)]
    ended = subprocess.run(["sh", "-c", command, "sh", *asked], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "memory is short: drawing reserves" in ended.stderr
    assert not drawn.exists()
