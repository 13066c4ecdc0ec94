"""The contract of back ends: one set of checks for all of them, in Rust or Python."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.library.suites.benchmark import Parameters


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
