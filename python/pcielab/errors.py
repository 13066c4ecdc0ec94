"""The errors that pcielab raises on purpose.

`InputError` (exit code 2): the user's input is wrong; the message names the file, the key or option, the value,
and the remedy. `RunError` (exit code 1): the input was fine, but the work failed. `StoppedError` (exit code 130):
the user stopped the work.

An `InputError` has the attribute `kind`, a word of `KINDS_OF_REFUSALS`: `refusal` makes one. `subject` (a file, a
system, a flow), `key`, `value`, `remedy` and `beside` (a key that the message names, too) are None where unknown.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from pcielab._core import KINDS_OF_REFUSALS, InputError, RunError

KindOfRefusal: TypeAlias = Literal[
    "unknown-key",
    "missing",
    "wrong-type",
    "out-of-range",
    "wrong-value",
    "conflict",
    "not-found",
    "too-large",
    "malformed",
    "unsupported",
    "damaged",
    "in-use",
    "exists",
    "not-allowed",
]
"""What is wrong with an input; `crates/pcie-refusal` has the meanings."""
_PARTS = ("kind", "subject", "key", "value", "remedy", "beside")


class StoppedError(RunError):
    """Ctrl-C stopped the work; the message says which results are kept."""


def refusal(kind: KindOfRefusal, message: object) -> InputError:
    """The error of a wrong input: what is wrong in a word, and a message."""
    error = InputError(str(message))
    error.kind = kind
    return error


def out_of_range(key: str, value: object, right: str) -> InputError:
    """The error of a key with a wrong value; `right` describes a right one, after "give"."""
    error = wrong_value(key, value, f"give {right}")
    error.kind = "out-of-range"
    return error


def wrong_value(key: str, value: object, remedy: str) -> InputError:
    """The error of a key whose value contradicts other keys."""
    error = refusal("wrong-value", f"{key} is {value}: {remedy}")
    error.key, error.value, error.remedy = key, str(value), remedy
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
    "KindOfRefusal",
    "RunError",
    "StoppedError",
    "found_in",
    "out_of_range",
    "refusal",
    "with_message",
    "wrong_value",
]
