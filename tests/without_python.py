"""`pcielab-run` of this tree, the binary for machines without Python."""

import subprocess
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parents[1]


@cache
def static_runner() -> Path:
    """The path of the binary, which is built first."""
    subprocess.run(["cargo", "build", "--quiet", "--workspace", "--bin", "pcielab-run"], cwd=_ROOT, check=True)
    return _ROOT / "target" / "debug" / "pcielab-run"
