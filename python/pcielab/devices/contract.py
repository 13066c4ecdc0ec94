"""The contract of back ends: one set of checks that any of them can be put through, wherever it is written."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from pcielab import _core
from pcielab.suites.benchmark import Parameters


def broken_promises(
    backend: _core.Backend, latency: Parameters, bandwidth: Parameters, refused: Sequence[Parameters] = ()
) -> list[str]:
    """What a back end does not keep to, in words; nothing for one that keeps to all of it.

    It ends within 200 ms of being told to; counts add up; ticks fit in the time; what it cannot do it refuses,
    naming the
    limit; after a stop or a refusal the next test works; closing without having run does no harm; nothing is
    left behind.

    Args:
        backend: See `bridged` and `open_kind`.
        latency: A latency test that it can carry out in a second or so.
        bandwidth: A bandwidth test likewise.
        refused: Tests that it has to refuse.
    """
    trial = {
        "latency": asdict(latency),
        "bandwidth": asdict(bandwidth),
        "refused": [asdict(one) for one in refused],
    }
    return backend.check_contract(json.dumps(trial))
