"""The errors that pcielab raises on purpose.

`InputError` (exit code 2): the user's input is wrong; the message names the file, the key or option, the value,
and the remedy. `RunError` (exit code 1): the input was fine, but the work failed. `StoppedError` (exit code 130):
the user stopped the work.

An `InputError` has the attributes `subject` (a file, a system, a flow), `key`, `value`, `remedy`, `beside` (a key
that the message names, too), and `kind` (a word of `KINDS_OF_REFUSALS`); unknown ones are None.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pcielab._core import KINDS_OF_REFUSALS, InputError, RunError

_PARTS = ("kind", "subject", "key", "value", "remedy", "beside")


class StoppedError(RunError):
    """Ctrl-C stopped the work; the message says which results are kept."""


def out_of_range(key: str, value: object, right: str) -> InputError:
    """The error of a key with a wrong value; `right` describes a right one, after "give"."""
    error = wrong_value(key, value, f"give {right}")
    error.kind = "out-of-range"
    return error


def wrong_value(key: str, value: object, remedy: str) -> InputError:
    """The error of a key whose value contradicts other keys."""
    error = InputError(f"{key} is {value}: {remedy}")
    error.kind, error.key, error.value, error.remedy = "wrong-value", key, str(value), remedy
    return error


def of_kind(kind: str | None, message: object) -> InputError:
    """The error of an input of which only the message is known, and what is wrong; `kind` as in `InputError`."""
    error = InputError(str(message))
    error.kind = kind
    return error


def with_message(error: InputError, message: str) -> InputError:
    """The same error with another message."""
    other = InputError(message)
    for part in _PARTS:
        setattr(other, part, getattr(error, part))
    return other


@contextmanager
def found_in(subject: object) -> Iterator[None]:
    """Prefix the message of an InputError with its subject, for example the path of a file."""
    try:
        yield
    except InputError as error:
        prefixed = with_message(error, f"{subject}: {error}")
        prefixed.subject = str(subject)
        raise prefixed from None


__all__ = [
    "KINDS_OF_REFUSALS",
    "InputError",
    "RunError",
    "StoppedError",
    "found_in",
    "of_kind",
    "out_of_range",
    "with_message",
    "wrong_value",
]
