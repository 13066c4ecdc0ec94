"""What the back end itself takes of a test's time, beside the card."""

import time

import pytest

from pcielab import devices, single_test
from pcielab.devices.cuda.backend import CudaBackend
from pcielab.devices.cuda.options import CudaHostOptions, CudaOptions

from .stand_in import StandIn

MOST_SECONDS = 0.05
"""For 10^6 transactions, address lists included."""


@pytest.mark.parametrize("operation", ["bw-rd", "bw-wr", "lat-rd"])
def test_a_million_transactions_take_little_beside_the_card(stand_in: StandIn, operation: str) -> None:
    options = CudaOptions(host=CudaHostOptions(buffer_bytes=8 << 20))
    device, _ = CudaBackend(options, 0).open()
    [test] = single_test(
        operation,  # type: ignore[arg-type]
        path="command",
        size=64,
        window="8M",
        transactions=1_000_000,
        outstanding=None if operation.startswith("lat") else 64,
    ).entries
    taken = []
    for position in range(5):
        before, started = stand_in.own_seconds, time.process_time()
        device.begin(devices.Start(position, 1, test.parameters, devices.Stop()))
        slices = (device.latency if operation.startswith("lat") else device.bandwidth)(test.parameters)
        made = sum(len(found) if operation.startswith("lat") else found for found, _ in slices)
        taken.append(time.process_time() - started - (stand_in.own_seconds - before))
        assert made == 1_000_000
    device.close()
    assert min(taken) < MOST_SECONDS, taken
