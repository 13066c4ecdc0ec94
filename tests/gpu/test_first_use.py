"""The first use of every kernel and engine comes before anything that is timed; the link is read under load."""

from pathlib import Path

import pytest

from pcielab import InputError, RunError, devices, open_store, single_test
from pcielab.devices.cuda import device, link
from pcielab.devices.cuda.backend import CudaBackend
from pcielab.devices.cuda.compiler import ReadForm, kernels_of
from pcielab.devices.cuda.link import LinkState, PciFacts
from pcielab.devices.cuda.monitor import Unknown
from pcielab.devices.cuda.options import CardOptions, CudaHostOptions, CudaOptions

from .stand_in import StandIn

IDLE, LOADED = LinkState(2.5, 16), LinkState(32.0, 16)
SETS = {"host.buffer_bytes": 4 << 20}


@pytest.mark.parametrize("read", ["load", "mmio"])
def test_every_kernel_is_launched_before_the_first_start_event(stand_in: StandIn, read: ReadForm) -> None:
    options = CudaOptions(device=CardOptions(read=read), host=CudaHostOptions(buffer_bytes=1 << 20))
    CudaBackend(options, 0).open()[0].close()
    kernels = [kernel for names in kernels_of(read).values() for kernel in names]
    assert len(kernels) == (31 if read == "mmio" else 40)
    first_start = min(stand_in.calls.index(("record", event)) for event in stand_in.start_events)
    before = stand_in.calls[:first_start]
    assert [kernel for kernel in kernels if ("function", kernel) not in before] == []
    assert [kernel for kernel in kernels if ("launch", kernel) not in before] == []
    # Nothing is looked up later, either.
    assert [call for call in stand_in.calls[first_start:] if call[0] == "function"] == []


def test_copies_are_made_both_ways_before_the_first_start_event(stand_in: StandIn) -> None:
    CudaBackend(CudaOptions(host=CudaHostOptions(buffer_bytes=1 << 20)), 0).open()[0].close()
    first_start = min(stand_in.calls.index(("record", event)) for event in stand_in.start_events)
    copies = [call for call in stand_in.calls[:first_start] if call[0] == "large copy"]
    assert copies[:2] == [("large copy", "to GPU"), ("large copy", "from GPU")]


def test_the_link_is_that_under_load(stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle GPU runs its link at the lowest rate, which bounds nothing that was measured."""
    monkeypatch.setattr(link, "link_state", lambda _address: LOADED if stand_in.is_busy else IDLE)
    facts = PciFacts(rate_most_gtps=32.0, lanes_most=16)
    monkeypatch.setattr("pcielab.devices.cuda.backend.read_pci_facts", lambda _address: facts)
    monkeypatch.setattr(link, "_READ_SECONDS", 0.0)
    one = single_test("bw-rd", path="command", size=64, window="64K", transactions=100_000)
    devices.run(devices.open_kind("cuda", sets=SETS), one, tmp_path / "gpu.db")
    store = open_store(tmp_path / "gpu.db")
    assert list(store.tests["status"]) == ["ok"], store.tests["message"][0]
    # Twice the whole bandwidth of the idle link, 2.5 GT/s x16.
    assert store.scalars["bandwidth"][0] > 64
    assert store.manifest["device"]["link"]["rate_gtps"] == 32.0
    conditions = store.scalar_rows[store.scalar_rows["subject"] == "condition"].set_index("metric")["value"]
    assert (conditions["idle_link_rate"], conditions["link_rate"]) == (2.5, 32.0)
    assert store.tests["message"][0] is None


@pytest.mark.parametrize("told_by", ["driver", "user"])
def test_an_emulated_port_does_not_bound_what_the_gpu_moves(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told_by: str
) -> None:
    """In a virtual machine the kernel may show 2.5 GT/s x1, and every bandwidth would be above that bound."""
    monkeypatch.setattr(link, "link_state", lambda _address: LinkState(2.5, 1))
    monkeypatch.setattr("pcielab.devices.cuda.backend.read_pci_facts", lambda _address: PciFacts())
    sets: dict[str, object] = dict(SETS)
    if told_by == "driver":
        monkeypatch.setattr(Unknown, "link", lambda _monitor: LOADED)
    else:
        sets["device.link"] = "gen5-x16"
    one = single_test("bw-rd", path="command", size=64, window="64K", transactions=20_000)
    devices.run(devices.open_kind("cuda", sets=sets), one, tmp_path / "gpu.db")
    store = open_store(tmp_path / "gpu.db")
    assert list(store.tests["status"]) == ["ok"], store.tests["message"][0]
    assert store.manifest["device"]["link"]["rate_gtps"] == 32.0


def test_a_link_that_is_none_is_refused(stand_in: StandIn) -> None:
    for text in ("gen5", "gen9-x16", "gen5-x3"):
        with pytest.raises(
            InputError,
            match=rf'device\.link: "{text}" is no link: give generation and lanes, for example gen5-x16',
        ):
            devices.open_kind("cuda", sets={"device.link": text})


def test_the_link_is_read_beside_bandwidths_and_after_latencies(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reading crosses the link: it could delay one of the reads that are timed one by one."""
    busy: list[bool] = []
    begun = device.CudaDevice.begin

    def state(_address: str) -> LinkState:
        busy.append(stand_in.is_busy)
        return LOADED

    def begin(self: device.CudaDevice, start: devices.Start) -> None:
        busy.clear()
        begun(self, start)

    monkeypatch.setattr(link, "link_state", state)
    monkeypatch.setattr(link, "_READ_SECONDS", 0.0)
    monkeypatch.setattr(device.CudaDevice, "begin", begin)
    for operation, seen in (("lat-rd", {False}), ("bw-rd", {False, True})):
        one = single_test(operation, path="command", size=64, window="64K", transactions=5000)
        devices.run(devices.open_kind("cuda", sets=SETS), one, tmp_path / f"{operation}.db")
        assert set(busy) == seen, operation


def test_the_first_test_does_not_count_the_time_that_loading_takes(stand_in: StandIn, tmp_path: Path) -> None:
    """Events around a launch must agree with the clocks of its warps within 1 % and 100 us; loading takes 5 ms."""
    # The first launch is then longer than 5 ms, from where on the two are compared.
    stand_in.round_trip_ns = 2000.0
    one = single_test("lat-rd", path="command", size=8, window="64K", transactions=20_000)
    devices.run(devices.open_kind("cuda", sets=SETS), one, tmp_path / "gpu.db")
    tests = open_store(tmp_path / "gpu.db").tests
    assert list(tests["status"]) == ["ok"], tests["message"][0]


def test_a_gpu_that_fails_at_its_opening_is_named(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.faults.failing_launches = {"fill": "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}
    one = single_test("lat-rd", path="command", size=8, window="64K", transactions=10)
    with pytest.raises(RunError, match=r"--device cuda:0: Stand-in: cuLaunchKernel: .*LAUNCH_OUT_OF_RESOURCES"):
        devices.run(devices.open_kind("cuda", sets=SETS), one, tmp_path / "gpu.db")
    assert stand_in.open_contexts == 0
