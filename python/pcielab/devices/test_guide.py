"""The guide's device is under 80 lines, runs, and keeps to the contract."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pcielab import devices, open_store, single_test

GUIDE = Path(__file__).parents[3] / "docs/guides/add-a-device.md"


@pytest.fixture
def guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the guide's code leaves behind, run in an empty directory."""
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text()
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert sum(block.count("\n") for block in blocks) < 80
    for block in blocks:
        exec(block, names)
    return names


def test_the_guides_device_measures_and_says_so(guide: dict[str, Any]) -> None:
    store = open_store(Path("numpy.db"))
    assert store.origin == "measured"
    assert store.manifest["device"]["name"] == "numpy"
    assert store.manifest["backend"] == {"kind": "numpy"}
    row = store.scalars.iloc[0]
    assert row["status"] == "ok"
    assert row["bandwidth"] > 0


class WithLatency:
    """The guide's device with latencies, which it has not, so that both halves of the contract are tried."""

    kind = "numpy"
    origin = "measured"

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def options(self) -> dict[str, Any]:
        return {}

    def attachments(self) -> dict[str, str]:
        return {}

    def open(self) -> Any:
        import numpy as np

        device, host = self._backend.open()

        def latency(test: Any) -> Any:
            if test.path != "dma":
                raise devices.NotSupportedError("numpy has the dma path alone")
            for first in range(0, test.transactions, 4096):
                count = min(4096, test.transactions - first)
                yield np.full(count, 5, dtype=np.uint32), 10.0 * count

        device.latency = latency
        device.thrash = device.warm = lambda *_: None
        return device, host


def test_the_guides_device_keeps_to_the_contract(guide: dict[str, Any]) -> None:
    bandwidth = single_test("bw-rd", size=4096, window="1M", transactions=5_000).entries[0].parameters
    latency = single_test("lat-rd", size=64, window="1M", transactions=5_000).entries[0].parameters
    backend = devices.bridged(WithLatency(guide["Backend"]()))
    refused = [replace(latency, path="command"), replace(bandwidth, operation="bw-wr")]
    assert devices.broken_promises(backend, latency, bandwidth, refused) == []
