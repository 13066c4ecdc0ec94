"""The errors that pcielab raises on purpose.

`InputError` (exit code 2): something the user gave is wrong; the message names the file, the key or option, the
value, and what would be right. `RunError` (exit code 1): the input was fine, and doing the work failed.
`StoppedError` (exit code 130): the user stopped it.
"""

from pcielab._core import InputError, RunError


class StoppedError(RunError):
    """Ctrl-C stopped the work; the message says what is kept of it."""


__all__ = ["InputError", "RunError", "StoppedError"]
