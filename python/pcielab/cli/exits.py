"""How commands end: the exit codes, the same for all commands, and the message on stderr.

| code | |
|---|---|
| 0 | done; also if the reader closed the pipe |
| 1 | failed: the input was fine, the work was not done |
| 2 | wrong usage or input: nothing was done |
| 130 | interrupted with Ctrl-C |
"""

import io
import os
import sys
import time
from collections.abc import Callable
from typing import TextIO

from pcielab.errors import InputError, RunError, StoppedError

DONE = 0
FAILED = 1
REFUSED = 2
INTERRUPTED = 130


def exit_code_of(command: Callable[[], object]) -> int:
    """Run a command, print its error on stderr, and return its exit code."""
    _open_closed_streams()
    _escape_what_an_encoding_lacks()
    try:
        return _attempted(command)
    except BrokenPipeError:
        _discard_stdout()
        return DONE
    except KeyboardInterrupt:
        return _failed("interrupted", INTERRUPTED)
    except InputError as error:
        return _failed(str(error), REFUSED)
    except StoppedError as error:
        return _failed(str(error), INTERRUPTED)
    except RunError as error:
        return _failed(str(error), FAILED)
    except OSError as error:
        _discard_stdout()
        return _failed(f"{error.filename or 'output'}: {error.strerror or error}", FAILED)
    except BaseException as error:  # a panic of the compiled half is not an Exception
        if os.environ.get("PCIELAB_TRACEBACK"):
            raise
        about = f"internal error: {type(error).__name__}: {error}"
        return _failed(f"{about}: please report it with the traceback (PCIELAB_TRACEBACK=1)", FAILED)


def _attempted(command: Callable[[], object]) -> int:
    _check_clock()
    try:
        command()
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):  # Typer treats it as a failure
            raise left.__context__ from None
        if left.code == INTERRUPTED:  # Typer prints nothing
            raise KeyboardInterrupt from None
        sys.stdout.flush()
        return left.code if isinstance(left.code, int) else DONE if left.code is None else FAILED
    sys.stdout.flush()
    return DONE


def _check_clock() -> None:
    """Refuse a clock that Python cannot read: libraries would fail while they load."""
    try:
        time.time()
    except OverflowError:
        raise RunError(
            "the clock of this machine is set before 1678 or after 2261: set it to the present"
        ) from None


def _open_closed_streams() -> None:
    """Replace an stdout or stderr that was closed before the start (`pcielab ... >&-`).

    Printing to a replaced stdout fails. Without a replacement, the next file opened would get the free descriptor
    and receive the output.
    """
    if sys.stdout is None:
        sys.stdout = _replacement(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _replacement(2, os.O_WRONLY)


def _escape_what_an_encoding_lacks() -> None:
    """Print an escape where an output's encoding lacks a letter, instead of failing in the middle of an answer."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def _replacement(number: int, flags: int) -> TextIO:
    opened = os.open(os.devnull, flags)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return open(number, "w", closefd=False, encoding="utf-8")


def _discard_stdout() -> None:
    """Drop unwritten output, which Python would otherwise try to write again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _failed(problem: str, code: int) -> int:
    # Loaded here because most commands succeed.
    from pcielab.cli.output import say_error

    say_error(problem)
    return code
