"""The two kinds of error that pcielab raises on purpose.

`InputError` (exit code 2): something the user gave is wrong; the message names the file, the key or option, the
value, and what would be right. `RunError` (exit code 1): the input was fine, and doing the work failed.
"""

from pcielab._core import InputError, RunError

__all__ = ["InputError", "RunError"]
