"""The errors that pcielab raises on purpose.

`InputError` (exit code 2): something the user gave is wrong; the message names the file, the key or option, the
value, and what would be right. `RunError` (exit code 1): the input was fine, and doing the work failed.
`StoppedError` (exit code 130): the user stopped it.

What an `InputError` is about can be asked of it, where it is known: `subject` (a file, a system, a flow), `key`,
`value`, `remedy`, and `beside`, another key that the message names. They are None where it is not.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pcielab._core import InputError, RunError

_PARTS = ("subject", "key", "value", "remedy", "beside")


class StoppedError(RunError):
    """Ctrl-C stopped the work; the message says what is kept of it."""


def out_of_range(key: str, value: object, right: str) -> InputError:
    """Of a key whose value cannot be; `right` says what would be, after "give"."""
    error = InputError(f"{key} is {value}: give {right}")
    error.key, error.value, error.remedy = key, str(value), f"give {right}"
    return error


def wrong_value(key: str, value: object, remedy: str) -> InputError:
    """Of a key whose value cannot be, beside the other keys."""
    error = InputError(f"{key} is {value}: {remedy}")
    error.key, error.value, error.remedy = key, str(value), remedy
    return error


def with_message(error: InputError, message: str) -> InputError:
    """The same error in other words."""
    other = InputError(message)
    for part in _PARTS:
        setattr(other, part, getattr(error, part))
    return other


@contextmanager
def found_in(place: object) -> Iterator[None]:
    """Lead the message of what is refused with where it is, such as the path of a file."""
    try:
        yield
    except InputError as error:
        led = with_message(error, f"{place}: {error}")
        led.subject = str(place)
        raise led from None


__all__ = ["InputError", "RunError", "StoppedError", "found_in", "out_of_range", "with_message", "wrong_value"]
