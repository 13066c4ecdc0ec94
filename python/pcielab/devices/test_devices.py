"""Back ends of every kind: selection, refusals, wrappers, and devices written in Python."""

import gc
import json
import re
import sys
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pcielab import InputError, RunError, Suite, _core, devices, load_suite, open_store, resolve, single_test
from pcielab.devices import registry
from pcielab.devices.protocols import LatencySlice
from pcielab.library.profiles.part import Part
from pcielab.library.suites.benchmark import Parameters


class Rig(devices.Device):
    """A device that yields the slices of a test."""

    def __init__(self, slices: Any, deadline_ms: int | None = 10_000) -> None:
        self.slices, self.deadline_ms, self.closed = slices, deadline_ms, 0

    def facts(self) -> devices.DeviceFacts:
        return devices.DeviceFacts(name="rig", timer=devices.Timer(10), deadline_ms=self.deadline_ms)

    def begin(self, start: devices.Start) -> None:
        self.start = start

    def latency(self, test: Parameters) -> Generator[LatencySlice, None, None]:
        yield from self.slices(self, test)

    def conditions(self) -> list[devices.Condition]:
        return [devices.Condition("temperature", "C", 40.0), devices.Condition("clock", "MHz", None)]

    def close(self) -> None:
        self.closed += 1


class Here(devices.Host):
    def facts(self) -> devices.HostFacts:
        return devices.HostFacts(name="here", buffer_bytes=1 << 20)

    def thrash(self) -> None:
        pass

    def warm(self, window_bytes: int) -> None:
        pass


class Rigged(devices.Backend):
    kind = "rigged"
    origin = "emulated"

    def __init__(self, slices: Any, deadline_ms: int | None = 10_000) -> None:
        self.device = Rig(slices, deadline_ms)

    def attachments(self) -> dict[str, str]:
        return {"rig.txt": "as it stands"}

    def open(self) -> tuple[devices.Device, devices.Host]:
        return self.device, Here()


def three_tests() -> Suite:
    one = single_test("lat-rd", window="8K", transactions=2048)
    return Suite.of("some", "Some tests", one.entries * 3)


def steady(_device: Rig, test: Parameters) -> Iterator[LatencySlice]:
    for first in range(0, test.transactions, 512):
        yield np.arange(first, first + 512, dtype=np.uint32) % 7 + 90, 512 * 1000.0


def test_store_has_facts_conditions_and_attachments_of_a_python_device(tmp_path: Path) -> None:
    backend = Rigged(steady)
    devices.run(devices.bridged(backend), three_tests(), tmp_path / "run.db", samples="full")
    store = open_store(tmp_path / "run.db")
    assert store.origin == "emulated"
    assert store.manifest["device"]["timer"]["numerator_ns"] == 10
    assert store.manifest["conditions_after"][0] == {"metric": "temperature", "unit": "C", "value": 40.0}
    assert store.attachments == {"rig.txt": "as it stands"}
    assert list(store.scalars["samples"]) == [2048, 2048, 2048]
    assert set(store.scalars["minimum"]) == {900.0}
    of_conditions = store.scalar_rows[store.scalar_rows["subject"] == "condition"]
    assert set(of_conditions["metric"]) == {"temperature"}
    assert backend.device.closed == 1


def test_a_device_that_does_not_list_the_pointer_chase_is_not_asked_for_one(tmp_path: Path) -> None:
    chase = single_test("lat-chase", path="command", size=8, window="8K", transactions=2048)
    devices.run(devices.bridged(Rigged(steady)), chase, tmp_path / "plain.db")
    refused = open_store(tmp_path / "plain.db").tests
    assert refused["status"].tolist() == ["not-supported"]
    assert refused["message"].tolist() == ["lat-chase: rig has no dependent reads: give --device cpu"]

    class Chasing(Rig):
        def facts(self) -> devices.DeviceFacts:
            return replace(super().facts(), operations=("command lat-chase",))

    backend = Rigged(steady)
    backend.device = Chasing(steady)
    devices.run(devices.bridged(backend), chase, tmp_path / "chasing.db", samples="full")
    assert open_store(tmp_path / "chasing.db").scalars["samples"].tolist() == [2048]


def test_address_offsets_are_aligned_and_vary() -> None:
    offsets = devices.address_offsets(three_tests().entries[0].parameters, seed=1, position=0, first=0, count=1000)
    assert offsets[0] == offsets[1]
    assert len(set(offsets)) > 64
    assert set(offsets % 64) == {0}


def test_exceptions_become_failures_refusals_and_losses(tmp_path: Path) -> None:
    raised = iter([ValueError("a bit fell over"), devices.NotSupportedError("64 bytes at most")])

    def wrong(_device: Rig, test: Parameters) -> Iterator[LatencySlice]:
        raise next(raised, None) or devices.DeviceLostError("unplugged")
        yield from steady(_device, test)

    with pytest.raises(RunError, match=r"rig was lost.*unplugged"):
        devices.run(devices.bridged(Rigged(wrong)), three_tests(), tmp_path / "run.db")
    store = open_store(tmp_path / "run.db")
    assert list(store.tests["status"]) == ["failed", "not-supported", "interrupted"]
    failed, refused = list(store.tests["message"])[:2]
    assert re.fullmatch(r"ValueError: a bit fell over \(latency of rigged, test_devices\.py line \d+\)", failed)
    assert refused == "64 bytes at most"
    devices.run(devices.bridged(Rigged(steady)), three_tests(), tmp_path / "run.db", resume=True)
    assert list(open_store(tmp_path / "run.db").tests["status"]) == ["failed", "not-supported", "ok"]


def test_run_gives_up_a_silent_device_at_its_deadline(tmp_path: Path) -> None:
    given_up, answered = threading.Event(), threading.Event()

    def silent(_device: Rig, _test: Parameters) -> Iterator[LatencySlice]:
        given_up.wait()
        answered.set()
        yield np.zeros(1, dtype=np.uint32), 1.0

    with pytest.raises(RunError, match="rig did not answer for"):
        devices.run(devices.bridged(Rigged(silent, deadline_ms=500)), three_tests(), tmp_path / "run.db")
    assert not answered.is_set()
    given_up.set()
    assert open_store(tmp_path / "run.db").tests.empty


def fails_at_128_bytes(device: Rig, test: Parameters) -> Iterator[LatencySlice]:
    if test.path != "dma":
        raise devices.NotSupportedError("path: dma alone")
    if test.size_bytes == 128:
        raise ValueError("a bit fell over")
    for _ in range(0, test.transactions, 512):
        if device.start.stop.is_requested():
            return
        yield np.full(512, 90, dtype=np.uint32), 512 * 1000.0


def contract_of(slices: Any) -> str:
    latency = single_test("lat-rd", size=64, window="8K", transactions=2048).entries[0].parameters
    refused, failing = [replace(latency, path="command")], [replace(latency, size_bytes=128)]
    return "; ".join(devices.broken_promises(devices.bridged(Rigged(slices)), latency, None, refused, failing))


def test_python_device_keeps_the_contract() -> None:
    assert contract_of(fails_at_128_bytes) == ""


def test_contract_reports_every_broken_rule() -> None:
    def deaf(device: Rig, test: Parameters) -> Iterator[LatencySlice]:
        if test.path != "dma":
            raise devices.NotSupportedError("no")
        for _ in range(0, test.transactions, 2048):
            if test.transactions > 2048 and test.cache == "host-warm":
                while not device.start.stop.is_requested():
                    time.sleep(0.001)
                time.sleep(0.4)  # twice what the contract allows: a busy machine makes it later still
            yield np.full(2048, 1000, dtype=np.uint32), 1.0

    broken = contract_of(deaf)
    assert "after the request" in broken
    assert "in 1 ns" in broken
    assert "refused without naming the limit" in broken
    assert "it should fail, and did not" in broken


def test_failing_begin_fails_its_test_alone(tmp_path: Path) -> None:
    class Forgetful(Rig):
        def begin(self, start: devices.Start) -> None:
            if start.position == 1:
                raise ValueError("nothing was set up")
            super().begin(start)

    backend = Rigged(steady)
    backend.device = Forgetful(steady)
    devices.run(devices.bridged(backend), three_tests(), tmp_path / "run.db")
    store = open_store(tmp_path / "run.db")
    assert list(store.tests["status"]) == ["ok", "failed", "ok"]
    assert re.fullmatch(
        r"ValueError: nothing was set up \(begin of rigged, test_devices\.py line \d+\)", store.tests["message"][1]
    )


def test_cpu_keeps_the_contract() -> None:
    read = single_test("lat-rd", path="command", size=8, window="64K", transactions=5_000).entries[0].parameters
    write = single_test("bw-wr", path="command", size=64, window="1M", transactions=5_000).entries[0].parameters
    refused = [replace(read, path="dma"), replace(write, window_bytes=1 << 30)]
    backend = devices.open_kind("cpu", sets={"host.buffer_bytes": "4M"})
    assert devices.broken_promises(backend, read, write, refused) == []


def test_resume_refuses_another_device(tmp_path: Path) -> None:
    output = tmp_path / "run.db"
    devices.run(devices.bridged(Rigged(steady)), three_tests(), output)
    other = Rigged(steady, deadline_ms=1)
    with pytest.raises(InputError, match=r"device\.deadline_ms is 1: the store has 10000"):
        devices.run(devices.bridged(other), three_tests(), output, resume=True)


def test_stop_closes_the_generator(tmp_path: Path) -> None:
    running, closed = threading.Event(), threading.Event()

    def endless(_device: Rig, _test: Parameters) -> Iterator[LatencySlice]:
        try:
            while True:
                running.set()
                yield np.full(2, 3, dtype=np.uint32), 100.0
        finally:
            closed.set()

    def stop(*_state: object) -> None:
        if running.is_set():
            raise KeyboardInterrupt

    suite = Suite.of("long", "Long", single_test("lat-rd", window="8K", transactions=1 << 21).entries)
    with pytest.raises(RunError, match="continue with --resume"):
        devices.run(devices.bridged(Rigged(endless)), suite, tmp_path / "run.db", samples="full", progress=stop)
    closed.wait()


def simulator() -> _core.Backend:
    return _core.Backend.simulated(resolve("snb").handle, samples="adaptive", engine="fast")


def test_trace_has_every_slice_and_changes_no_number(tmp_path: Path) -> None:
    suite = Suite.of("few", "Few", load_suite("quick").entries[:4])
    devices.run(simulator(), suite, tmp_path / "plain.db")
    devices.run(simulator().traced(tmp_path / "trace.jsonl"), suite, tmp_path / "traced.db")
    plain, traced = (open_store(tmp_path / name).scalar_rows for name in ("plain.db", "traced.db"))
    assert plain.equals(traced)
    lines = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    samples = sum(len(line.get("ticks", [])) for line in lines)
    assert samples == plain[plain["metric"] == "samples"]["value"].sum()


def test_injected_faults_are_recorded_and_leave_a_readable_store(tmp_path: Path) -> None:
    suite = Suite.of("few", "Few", load_suite("quick").entries[:12])
    faulty = simulator().with_faults(json.dumps({"seed": 3, "failures": 0.3, "wrong_counts": 0.3}))
    devices.run(faulty, suite, tmp_path / "run.db")
    store = open_store(tmp_path / "run.db")
    assert store.manifest["backend"]["faults"]["failures"] == 0.3
    assert set(store.tests["status"]) == {"ok", "failed"}
    messages = set(store.tests["message"].dropna())
    assert "a failure on purpose" in messages
    assert any("than were asked for" in message or "transactions of" in message for message in messages)


def test_unknown_kinds_options_and_addresses_are_refused_by_name() -> None:
    for device, sets, text in [
        ("cpuu", {}, "--device cpuu: unknown: did you mean cpu"),
        ("cpu", {"host.pages": 1}, "host.pages"),
        ("cpu", {"host.page_bytes": 5000}, "5000: a page is 4096, 2097152 or 1073741824 bytes"),
        ("cpu", {"pages": 1}, "--set pages: give device.KEY=VALUE or host.KEY=VALUE"),
        ("cpu:two", {}, "--device cpu:two: give the number of a core"),
        ("cpu:1", {"host.core": 0}, "--device cpu:1 and host.core=0"),
        ("sim:snb", {}, "--device sim:snb: runs on a system (--profile) and has no address: give --device sim"),
    ]:
        with pytest.raises(InputError) as caught:
            devices.open_kind(device, sets=sets)
        assert text in str(caught.value), caught.value


class EntryPoint:
    """Stands in for `importlib.metadata.EntryPoint`."""

    def __init__(self, name: str, load: Any) -> None:
        self.name, self.load, self.dist = name, load, None


def test_packages_register_kinds_and_a_broken_one_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise ImportError("libcard.so is missing")

    kind = devices.Kind(
        "rigged", "A rig", Part, lambda *_: devices.bridged(Rigged(steady)), lambda: [("rig 0", "")]
    )
    found = [EntryPoint("rigged", lambda: kind), EntryPoint("card", broken)]
    monkeypatch.setattr(registry, "entry_points", lambda group: found if group == "pcielab.devices" else [])
    assert list(devices.kinds()) == [
        "sim",
        "cpu",
        "nvme",
        "e1000e",
        "pio",
        "cuda",
        "rtl",
        "fpga",
        "card",
        "rigged",
    ]
    assert devices.open_kind("rigged").kind == "rigged"
    assert "libcard.so is missing" in devices.kinds()["card"].present()[0][1]
    found_here = [devices.kinds()[name].present()[0][0] for name in ("rtl", "fpga")]
    assert found_here == ["pcielab-fpga", "pcielab-fpga on a board"]
    with pytest.raises(InputError, match=r"--device card: .*libcard\.so is missing"):
        devices.open_kind("card")


def test_buffer_of_the_real_host_is_an_array_with_an_address() -> None:
    host = devices.RealHost(devices.HostOptions(buffer_bytes=1 << 20, cold="flush"))
    assert (host.buffer.size, host.buffer.ctypes.data) == (1 << 20, host.address)
    host.buffer[5] = 7
    host.thrash()
    host.warm(4096)
    assert host.facts().buffer_bytes == 1 << 20
    assert host.facts().cold == "flush"
    assert {condition.metric for condition in host.conditions()} == {"load", "clock", "temperature", "cold_share"}
    array = host.buffer
    del host
    array[:] = 1  # still mapped
    assert array.sum() == 1 << 20
    with pytest.raises(devices.UnavailableError, match=r"host\.node is 900"):
        devices.RealHost(devices.HostOptions(node=900))


def test_another_thread_drops_a_real_host_but_does_not_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    opened: list[devices.RealHost] = []
    options = devices.HostOptions(buffer_bytes=1 << 20, cold="flush")
    opener = threading.Thread(target=lambda: opened.append(devices.RealHost(options)))
    opener.start()
    opener.join()
    with pytest.raises(RunError, match="belongs to the thread that opened it"):
        opened[0].thrash()
    opened.clear()
    gc.collect()
    assert complaints == []
