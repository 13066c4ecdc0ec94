"""How commands end: the exit codes, the same for all of them, and what is said on stderr.

| code | |
|---|---|
| 0 | done; also where the reader of a pipe had seen enough |
| 1 | failed: the input was fine, the work was not done |
| 2 | wrong usage or input: nothing was done |
| 130 | interrupted with Ctrl-C |
"""

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
    """Run a command, say on stderr what went wrong with it, and return its exit code."""
    _open_closed_streams()
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
    except BaseException as error:  # a panic of the compiled half is no Exception
        if os.environ.get("PCIELAB_TRACEBACK"):
            raise
        about = f"{type(error).__name__}: {error}"
        return _failed(
            f"a defect of pcielab: {about}: please report it, with what PCIELAB_TRACEBACK=1 shows", FAILED
        )


def _attempted(command: Callable[[], object]) -> int:
    _check_clock()
    try:
        command()
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):  # Typer calls that a failure
            raise left.__context__ from None
        if left.code == INTERRUPTED:  # Typer says nothing
            raise KeyboardInterrupt from None
        sys.stdout.flush()
        return left.code if isinstance(left.code, int) else DONE if left.code is None else FAILED
    sys.stdout.flush()
    return DONE


def _check_clock() -> None:
    """Refuse a clock that Python cannot read, on which libraries fail as they are loaded."""
    try:
        time.time()
    except OverflowError:
        raise RunError(
            "the clock of this machine is set before 1678 or after 2261: set it to the present"
        ) from None


def _open_closed_streams() -> None:
    """Stand in for an stdout or stderr that was closed before the start (`pcielab ... >&-`).

    What is printed to such an stdout is lost, which is told as a failure. Without a stand-in, a file that is
    opened later gets the free number, and what is printed goes into that file.
    """
    if sys.stdout is None:
        sys.stdout = _standing_in(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _standing_in(2, os.O_WRONLY)


def _standing_in(number: int, flags: int) -> TextIO:
    opened = os.open(os.devnull, flags)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return open(number, "w", closefd=False, encoding="utf-8")


def _discard_stdout() -> None:
    """Drop what could not be written to stdout, which Python would try again as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _failed(problem: str, code: int) -> int:
    # Loaded here because most commands succeed.
    from pcielab.cli.output import say_error

    say_error(problem)
    return code
