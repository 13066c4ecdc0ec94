"""For authors of back ends: `pcielab.run` on one, and the contract that all of them keep, in Rust or Python.

Stands alone: the package loads its names at first use.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.devices.running import run as run_work
from pcielab.library.suites.benchmark import Parameters
from pcielab.store import Store
from pcielab.work.options import RunOptions, Work
from pcielab.work.running import Progress, no_progress


@refuses_wrong_types
def run(
    backend: _core.Backend, suite: Work | str, output: Path | str, *, progress: Progress = no_progress, **how: Any
) -> Store:
    """Run a suite on a back end and open its store; see `pcielab.run`. `how`: keywords of `RunOptions`."""
    return run_work(suite, backend, output, options=RunOptions(**how), progress=progress)


@refuses_wrong_types
def broken_promises(
    backend: _core.Backend,
    latency: Parameters | None,
    bandwidth: Parameters | None,
    refused: Sequence[Parameters] = (),
    failing: Sequence[Parameters] = (),
) -> list[str]:
    """List the rules of the contract that a back end breaks, in words; empty if it keeps all of them.

    It stops within 200 ms of a request at any moment. Counts add up, and ticks fit in the elapsed time. It refuses
    unsupported tests and names the limit. After a stop, a refusal or a failure the next test works. Closing twice,
    or without a run, is harmless. It leaves no open files, threads or huge pages behind.

    Args:
        backend: See `bridged` and `open_kind`.
        latency: A latency test of about a second; None if it measures no latencies.
        bandwidth: A bandwidth test likewise.
        refused: Tests that it has to refuse.
        failing: Tests that fail on it.
    """
    trial = {
        "latency": asdict(latency) if latency else None,
        "bandwidth": asdict(bandwidth) if bandwidth else None,
        "refused": [asdict(one) for one in refused],
        "failing": [asdict(one) for one in failing],
    }
    return backend.check_contract(json.dumps(trial))
