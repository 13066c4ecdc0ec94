"""`pcielab.devices.run`: `pcielab.run` for an existing back end."""

from pathlib import Path
from typing import Any

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.devices.running import run as run_work
from pcielab.store import Store
from pcielab.work.options import RunOptions, Work
from pcielab.work.running import Progress, no_progress


@refuses_wrong_types
def run(
    backend: _core.Backend, suite: Work | str, output: Path | str, *, progress: Progress = no_progress, **how: Any
) -> Store:
    """Run a suite on a back end and open its store; see `pcielab.run`. `how`: keywords of `RunOptions`."""
    return run_work(suite, backend, output, options=RunOptions(**how), progress=progress)
