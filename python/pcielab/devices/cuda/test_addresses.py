"""The GPU visits the same addresses as every other device, replays included."""

import numpy as np
import pytest

from pcielab import devices, single_test
from pcielab.devices.cuda.launches import LIST_LENGTH, AddressList
from pcielab.library.suites import benchmark


@pytest.mark.parametrize("operation", ["lat-rd", "lat-wrrd", "bw-rd", "bw-rdwr"])
@pytest.mark.parametrize("transactions", [1, 5, LIST_LENGTH, LIST_LENGTH + 1, 2 * LIST_LENGTH + 7])
def test_list_has_the_address_of_every_transaction(operation: benchmark.Operation, transactions: int) -> None:
    suite = single_test(operation, path="command", size=60, window="1M", host_offset=4, transactions=transactions)
    start = devices.Start(3, 7, suite.entries[0].parameters, devices.Stop())
    addresses = AddressList(start)
    for first in {0, 1, transactions // 2, max(transactions - 9, 0)} - {transactions}:
        index, count = addresses.piece(first, min(9, transactions - first))
        assert 1 <= count <= 9
        wanted = start.offsets(first, count)
        assert np.array_equal(addresses.words(index, count) * np.uint64(4), wanted)


def test_piece_ends_at_the_end_of_the_list() -> None:
    suite = single_test("bw-rd", path="command", size=64, window="1M", transactions=2 * LIST_LENGTH)
    addresses = AddressList(devices.Start(0, 1, suite.entries[0].parameters, devices.Stop()))
    assert addresses.piece(LIST_LENGTH - 3, 100) == (LIST_LENGTH - 3, 3)
    assert addresses.piece(LIST_LENGTH, 100) == (0, 100)
