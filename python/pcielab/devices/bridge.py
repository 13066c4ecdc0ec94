"""Adapters that let Rust call back ends in Python: facts and tests cross as JSON, slices as arrays."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, TypeVar

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.devices.facts import DeviceFacts, HostFacts, Remarks
from pcielab.devices.mistakes import (
    check_attachments,
    check_backend,
    check_complete,
    check_condition,
    check_facts,
    check_latencies,
    check_opened,
    check_remarks,
    check_slices,
    check_transactions,
    left_out,
    located,
    options_as_json,
)
from pcielab.devices.protocols import Backend, BandwidthSlice, Device, Host, LatencySlice, Start
from pcielab.library.suites.benchmark import Parameters

_Result = TypeVar("_Result")
_ENDED = object()


@refuses_wrong_types
def bridged(backend: Backend) -> _core.Backend:
    """Wrap a back end in Python, so that it can be run or put through the contract.

    Raises:
        InputError: An attribute or a method of the back end is missing or wrong.
    """
    check_backend(backend)
    return _core.Backend.of_python(_Adapter(backend))


class _Adapter:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def kind(self) -> str:
        return self._backend.kind

    def origin(self) -> str:
        return self._backend.origin

    def options(self) -> str:
        return options_as_json(self._backend.options(), self.kind())

    def attachments(self) -> list[tuple[str, str]]:
        return list(check_attachments(self._backend.attachments(), self.kind()).items())

    def open(self) -> "_OpenBench":
        kind = self.kind()
        with located("open", kind):
            opened = self._backend.open()
        return _OpenBench(*check_opened(opened, kind), kind)


class _OpenBench:
    def __init__(self, device: Device, host: Host, kind: str) -> None:
        self._device, self._host, self._kind = device, host, kind
        self._stop: _core.Stop | None = None

    def device_facts(self) -> str:
        return json.dumps(check_facts(self._called("facts", self._device.facts), DeviceFacts, self._kind))

    def host_facts(self) -> str:
        return json.dumps(check_facts(self._called("facts", self._host.facts), HostFacts, self._kind))

    def device_conditions(self) -> str:
        return self._conditions(self._device)

    def host_conditions(self) -> str:
        return self._conditions(self._host)

    def _conditions(self, side: Device | Host) -> str:
        with left_out("conditions", self._kind):
            return json.dumps([asdict(check_condition(condition)) for condition in side.conditions()])
        return "[]"

    def begin(self, position: int, seed: int, test: str, stop: _core.Stop) -> None:
        start = Start(position, seed, _parameters(test), stop)
        self._stop = stop
        self._called("begin", self._device.begin, start)
        self._called("begin", self._host.begin, start)

    def device_thrash(self) -> None:
        self._called("thrash", self._device.thrash)

    def device_warm(self, window_bytes: int) -> None:
        self._called("warm", self._device.warm, window_bytes)

    def host_thrash(self) -> None:
        self._called("thrash", self._host.thrash)

    def host_warm(self, window_bytes: int) -> None:
        self._called("warm", self._host.warm, window_bytes)

    def latency(self, test: str) -> Iterator[LatencySlice]:
        return self._slices("latency", self._device.latency, _parameters(test), check_latencies, len)

    def bandwidth(self, test: str) -> Iterator[BandwidthSlice]:
        return self._slices("bandwidth", self._device.bandwidth, _parameters(test), check_transactions, int)

    def _slices(
        self,
        name: str,
        method: Callable[[Parameters], Iterator[Any]],
        test: Parameters,
        check: Callable[[Any, str], tuple[_Result, float]],
        count: Callable[[_Result], int],
    ) -> Iterator[tuple[_Result, float]]:
        """Pass checked slices on; closing this closes the device's generator."""
        done = 0
        slices = check_slices(self._called(name, method, test), name, self._kind)
        try:
            while (found := self._called(name, next, slices, _ENDED)) is not _ENDED:
                results, elapsed_ns = check(found, self._kind)
                done += count(results)
                yield results, elapsed_ns
        finally:
            if hasattr(slices, "close"):
                slices.close()
        if self._stop is None or not self._stop.is_requested():
            check_complete(done, test.transactions, name, self._kind)

    def _called(self, name: str, method: Callable[..., _Result], *arguments: Any) -> _Result:
        with located(name, self._kind):
            return method(*arguments)

    def remarks(self) -> str:
        with left_out("remarks", self._kind):
            return json.dumps(asdict(check_remarks(self._device.remarks(), self._kind)))
        return json.dumps(asdict(Remarks()))

    def recover(self) -> None:
        self._called("recover", self._device.recover)

    def close(self) -> None:
        try:
            self._device.close()
        finally:
            self._host.close()


def _parameters(test: str) -> Parameters:
    return Parameters(**json.loads(test))
