"""`pcielab` in this process, where a test has replaced the driver by a stand-in."""

import sys
from pathlib import Path

import pytest

from pcielab.cli import main


def command(*arguments: str | Path) -> int:
    """Run a command to its end; returns its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["pcielab", *map(str, arguments)])
        try:
            main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 1
    return 0
