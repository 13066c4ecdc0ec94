"""Adapters that let Rust call back ends in Python: facts and tests cross as JSON, slices as arrays."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np

from pcielab import _core
from pcielab.devices.facts import Condition
from pcielab.devices.protocols import Backend, BandwidthSlice, Device, Host, LatencySlice, Start
from pcielab.library.suites.benchmark import Parameters


def bridged(backend: Backend) -> _core.Backend:
    """Wrap a back end in Python, so that it can be run or put through the contract."""
    return _core.Backend.of_python(_Adapter(backend))


class _Adapter:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def kind(self) -> str:
        return self._backend.kind

    def origin(self) -> str:
        return self._backend.origin

    def options(self) -> str:
        return json.dumps(dict(self._backend.options()))

    def attachments(self) -> list[tuple[str, str]]:
        return list(self._backend.attachments().items())

    def open(self) -> "_OpenBench":
        return _OpenBench(*self._backend.open())


class _OpenBench:
    def __init__(self, device: Device, host: Host) -> None:
        self._device, self._host = device, host

    def device_facts(self) -> str:
        return json.dumps(asdict(self._device.facts()))

    def host_facts(self) -> str:
        return json.dumps(asdict(self._host.facts()))

    def device_conditions(self) -> str:
        return _conditions(self._device.conditions())

    def host_conditions(self) -> str:
        return _conditions(self._host.conditions())

    def begin(self, position: int, seed: int, test: str, stop: _core.Stop) -> None:
        start = Start(position, seed, _parameters(test), stop)
        self._device.begin(start)
        self._host.begin(start)

    def device_thrash(self) -> None:
        self._device.thrash()

    def device_warm(self, window_bytes: int) -> None:
        self._device.warm(window_bytes)

    def host_thrash(self) -> None:
        self._host.thrash()

    def host_warm(self, window_bytes: int) -> None:
        self._host.warm(window_bytes)

    def latency(self, test: str) -> Iterator[LatencySlice]:
        slices = self._device.latency(_parameters(test))
        try:
            for ticks, elapsed_ns in slices:
                yield np.ascontiguousarray(ticks, dtype=np.uint32), float(elapsed_ns)
        finally:
            slices.close()

    def bandwidth(self, test: str) -> Iterator[BandwidthSlice]:
        slices = self._device.bandwidth(_parameters(test))
        try:
            for transactions, elapsed_ns in slices:
                yield int(transactions), float(elapsed_ns)
        finally:
            slices.close()

    def remarks(self) -> str:
        return json.dumps(asdict(self._device.remarks()))

    def recover(self) -> None:
        self._device.recover()

    def close(self) -> None:
        try:
            self._device.close()
        finally:
            self._host.close()


def _parameters(test: str) -> Parameters:
    return Parameters(**json.loads(test))


def _conditions(conditions: Sequence[Condition]) -> str:
    return json.dumps([asdict(condition) for condition in conditions])
