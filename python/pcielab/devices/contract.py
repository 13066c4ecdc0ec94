"""The contract of back ends: one set of checks that any of them can be put through, wherever it is written."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from pcielab import _core
from pcielab.library.suites.benchmark import Parameters


def broken_promises(
    backend: _core.Backend,
    latency: Parameters | None,
    bandwidth: Parameters | None,
    refused: Sequence[Parameters] = (),
    failing: Sequence[Parameters] = (),
) -> list[str]:
    """What a back end does not keep to, in words; nothing for one that keeps to all of it.

    It ends within 200 ms of being told to, whatever it is at; counts add up; ticks fit in the time; what it cannot
    do it refuses, naming the limit; after a stop, a refusal or a failure the next test works; closing twice, or
    without having run, does no harm; nothing is left behind: open files, threads, huge pages.

    Args:
        backend: See `bridged` and `open_kind`.
        latency: A latency test that it can carry out in a second or so; None where it measures no latencies.
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
