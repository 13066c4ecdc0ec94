"""What every test finds: Ctrl-C as on a terminal, the width of a pipe, and the list of longer tests.

Processes that share the tests out ignore Ctrl-C, and so would the commands that tests start and interrupt. GNU
readline, which pytest may load, sets COLUMNS for the commands that a process starts, without `os.environ`.
"""

import gc
import os
import signal
from contextlib import suppress

with suppress(ImportError):
    import readline  # noqa: F401

pytest_plugins = ["longer_tests"]

signal.signal(signal.SIGINT, signal.default_int_handler)
for name in {"COLUMNS", "LINES"} - os.environ.keys():
    os.unsetenv(name)


def pytest_collection_finish() -> None:
    """Exclude loaded modules and tests from garbage collection, in this process and in those forked from it."""
    gc.collect()
    gc.freeze()
