"""Faults of a GPU are reported, never measured; operations that it lacks are refused with the limit."""

from pathlib import Path

import pytest

from pcielab import devices, open_store, single_test
from pcielab.devices.cuda import link, opened
from pcielab.devices.cuda.backend import CudaBackend
from pcielab.devices.cuda.driver import Card
from pcielab.devices.cuda.link import LinkState, PciFacts
from pcielab.devices.cuda.options import CardOptions, CudaHostOptions, CudaOptions

from .command import command
from .stand_in import CARD, Faults, StandIn

BUFFER = ("--set", "host.buffer_bytes=4M")
LATENCY = ("--test", "lat-rd", "--path", "command", "--size", "8", "--window", "64K", "--transactions", "3000")
PAIRS = ("--test", "lat-wrrd", *LATENCY[2:])
READS = ("--test", "bw-rd", "--path", "command", "--size", "64", "--window", "64K", "--transactions", "3000")
WRITES = ("--test", "bw-wr", *READS[2:])
BOTH = ("--test", "bw-rdwr", *READS[2:])
COPIES = ("--test", "bw-rd", "--path", "dma", "--size", "4K", "--window", "1M", "--transactions", "300")
COPIES_OUT = ("--test", "bw-wr", *COPIES[2:])


def run(tmp_path: Path, *options: str) -> int:
    return command("run", "--device", "cuda", *options, *BUFFER, "-o", tmp_path / "gpu.db")


def stderr_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The captured stderr without line breaks."""
    return " ".join(capsys.readouterr().err.split())


def message(tmp_path: Path) -> str:
    store = open_store(tmp_path / "gpu.db")
    assert list(store.tests["status"]) == ["failed"]
    assert store.scalars.get("bandwidth") is None or store.scalars["bandwidth"].isna().all()
    return str(store.tests["message"].iloc[0])


@pytest.mark.parametrize(
    ("faults", "test", "expected"),
    [
        (
            {"wrong_reads": ("latency_read_8_1",)},
            LATENCY,
            "wrong data: 3000 transfers of 8 bytes read words that add up",
        ),
        ({"wrong_reads": ("bandwidth_16",)}, READS, "transfers of 64 bytes read words that add up to"),
        ({"wrong_reads": ("bandwidth_16",)}, BOTH, "transfers of 64 bytes read words that add up to"),
        ({"wrong_writes": True}, WRITES, "words of the window differ from those that bw-wr should have written"),
        ({"wrong_writes": True}, PAIRS, "wrong data"),
        ({"wrong_copies": True}, COPIES, "differ from those that bw-rd should have read"),
        ({"wrong_copies": True}, COPIES_OUT, "differ from those that bw-wr should have written"),
        ({"lazy": True}, LATENCY, "latency_read_8_1: 2999 of 3000 transfers were made"),
        ({"lazy": True}, READS, "transfers were made"),
        ({"failing_launches": {"bandwidth_16": "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}}, READS, "OUT_OF_RESOURCES"),
        ({"slow_events": True}, (*LATENCY[:-1], "20000"), "clocks disagree"),
    ],
)
def test_a_fault_fails_the_test_without_a_number(
    stand_in: StandIn, tmp_path: Path, faults: dict[str, object], test: tuple[str, ...], expected: str
) -> None:
    set_faults(stand_in, faults)
    assert run(tmp_path, *test) == 1
    assert expected in message(tmp_path)
    assert stand_in.open_contexts == 0


def set_faults(stand_in: StandIn, faults: dict[str, object]) -> None:
    """Set faults that do not strike during the checks at the opening."""
    stand_in.faults = Faults(**faults)  # type: ignore[arg-type]
    if stand_in.faults.lazy:
        # The checks use the same kernels: these must do all their work.
        check = stand_in._latency
        stand_in.faults.lazy = False

        def only_when_measured(kernel: str, blocks: int, *arguments: int) -> None:
            stand_in.faults.lazy = kernel.endswith("_8")
            check(kernel, blocks, *arguments)

        stand_in._latency = only_when_measured  # type: ignore[method-assign]
        stand_in.faults.lazy = True


def test_a_bandwidth_above_the_bound_of_the_link_fails(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "link_state", lambda _address: LinkState(8.0, 4))
    assert run(tmp_path, *READS[:-1], "100000") == 1
    assert "Gb/s is above the bound of the link" in message(tmp_path)


def test_a_link_slower_than_its_ends_is_remarked_on(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "link_state", lambda _address: LinkState(32.0, 8))
    facts = PciFacts(rate_most_gtps=32.0, lanes_most=16)
    monkeypatch.setattr("pcielab.devices.cuda.backend.read_pci_facts", lambda _address: facts)
    backend = devices.open_kind("cuda", sets={"host.buffer_bytes": 4 << 20})
    devices.run(backend, single_test("bw-rd", path="command", size=64, window="64K"), tmp_path / "gpu.db")
    assert (
        "at 32 GT/s x8; both ends support 32 GT/s x16" in open_store(tmp_path / "gpu.db").tests["message"].iloc[0]
    )


@pytest.mark.parametrize("code", ["CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_ECC_UNCORRECTABLE"])
def test_a_lost_gpu_ends_the_run_at_once(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str
) -> None:
    stand_in.faults.failing_launches = {"latency_read_8_1": code}
    assert run(tmp_path, *LATENCY) == 1
    lost = f"Stand-in (sm_90) was lost in single LAT_CMD_RD of suite single: cuLaunchKernel: on purpose ({code})"
    assert lost in stderr_of(capsys)
    assert list(open_store(tmp_path / "gpu.db").tests["status"]) == ["interrupted"]
    # No further calls are made, not even to release the context.
    assert stand_in.open_contexts == 1


def test_a_launch_that_overruns_is_stopped(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened, "LAUNCH_SECONDS", 0.2)
    stand_in.faults.hanging = ("latency_read_8_1",)
    assert run(tmp_path, *LATENCY) == 1
    assert "latency_read_8_1 did not end within 0.2 s and was stopped" in message(tmp_path)
    assert stand_in.open_contexts == 0


def test_a_gpu_that_ignores_the_stop_flag_is_lost(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.faults.hanging, stand_in.faults.deaf = ("latency_read_8_1",), True
    assert run(tmp_path, *LATENCY) == 1
    limits = f"did not end within {opened.LAUNCH_SECONDS:g} s, nor within {opened.STOP_SECONDS:g} s of a stop"
    assert limits in stderr_of(capsys)


def test_reads_from_a_cache_of_the_gpu_are_detected_before_the_run(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.faults.cached = True
    assert run(tmp_path, *LATENCY) == 2
    assert "a kernel saw only 0 of 8 values that the host wrote: device.read is load" in stderr_of(capsys)
    assert not (tmp_path / "gpu.db").exists()


OTHER = Card(
    **{**vars(CARD), "number": 1, "name": "Another", "address": "0000:99:00.0", "compute_mode": "prohibited"}
)


@pytest.mark.parametrize(
    ("device", "faults", "expected"),
    [
        ("cuda:3", {}, "the CUDA driver sees cuda:0 (Stand-in, ffff:ff:1f.7), cuda:1 (Another, 0000:99:00.0)"),
        ("cuda:1", {}, "its compute mode prohibits contexts"),
        ("cuda:x", {}, "--device cuda:x: give the number of a GPU, for example cuda:0"),
        ("cuda", {"exclusive": True}, "another process uses it exclusively"),
        ("cuda", {"refused_registrations": 1}, "refused to register the buffer"),
    ],
)
def test_a_gpu_that_cannot_be_opened_is_refused(
    stand_in: StandIn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    device: str,
    faults: dict[str, object],
    expected: str,
) -> None:
    stand_in._cards.append(OTHER)
    stand_in.faults = Faults(**faults)  # type: ignore[arg-type]
    assert command("run", "--device", device, *LATENCY, *BUFFER, "-o", tmp_path / "gpu.db") == 2
    assert expected in stderr_of(capsys)
    assert not (tmp_path / "gpu.db").exists()
    assert stand_in.open_contexts == 0


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (("--test", "lat-rd", "--path", "dma"), "a copy engine has no time stamp of its own"),
        (("--test", "bw-rd", "--path", "dma", "--size", "64"), "path dma copies 4096 to 67108864 bytes"),
        (
            ("--test", "bw-rd", "--path", "dma", "--size", "4K", "--window", "64K", "--outstanding", "4"),
            "its own queue",
        ),
        (
            ("--test", "bw-rd", "--path", "command", "--size", "8K", "--window", "1M"),
            "a warp moves 4096 bytes at most",
        ),
        (("--test", "lat-rd", "--path", "command", "--size", "7"), "aligned words of 4 bytes"),
        (
            ("--test", "lat-rd", "--path", "command", "--size", "8", "--host-offset", "2"),
            "aligned words of 4 bytes",
        ),
        (("--test", "lat-rd", "--path", "command", "--device-offset", "4"), "registers, which have no offset"),
        (("--test", "bw-rd", "--path", "command", "--outstanding", "129"), "at most 128 warps"),
        (("--test", "bw-rd", "--path", "command", "--window", "8M"), "the buffer has 4194304 bytes"),
    ],
)
def test_limits_of_a_gpu_are_named(
    stand_in: StandIn, tmp_path: Path, test: tuple[str, ...], expected: str
) -> None:
    assert run(tmp_path, *test) == 1
    tests = open_store(tmp_path / "gpu.db").tests
    assert list(tests["status"]) == ["not-supported"]
    assert expected in tests["message"].iloc[0]


def test_a_gpu_that_is_closed_twice_is_released_once(stand_in: StandIn) -> None:
    device, _ = CudaBackend(CudaOptions(host=CudaHostOptions(buffer_bytes=1 << 20)), 0).open()
    device.close()
    device.close()
    assert stand_in.open_contexts == 0


def test_bulk_reads_are_refused_where_the_gpu_has_none(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in._cards[0] = Card(**{**vars(CARD), "architecture": 80})
    with pytest.raises(devices.UnavailableError, match=r"is sm_80, and bulk copies need sm_90 or later"):
        CudaBackend(CudaOptions(device=CardOptions(read="bulk")), 0, lambda: stand_in).open()


@pytest.mark.parametrize("kind", ["coherent", "integrated"])
def test_a_gpu_that_is_not_on_pcie_is_labelled_so(stand_in: StandIn, tmp_path: Path, kind: str) -> None:
    stand_in._cards[0] = Card(**{**vars(CARD), kind: True})
    assert run(tmp_path, *LATENCY) == 0
    device = open_store(tmp_path / "gpu.db").manifest["device"]
    assert "not on PCIe" in device["name"]
    assert device["link"] is None


def test_the_back_end_keeps_the_contract(stand_in: StandIn) -> None:
    host = CudaHostOptions(buffer_bytes=4 << 20)
    backend = devices.bridged(CudaBackend(CudaOptions(host=host), 0))
    latency = single_test("lat-wrrd", path="command", size=64, window="64K", transactions=5000)
    bandwidth = single_test("bw-rdwr", path="command", size=64, window="64K", transactions=5000)
    refused = [
        single_test("lat-rd", path="dma", size=64, window="64K"),
        single_test("bw-rd", path="dma", size=64, window="64K"),
        single_test("bw-rd", path="command", size=64, window="8M"),
    ]
    chosen = [suite.entries[0].parameters for suite in (latency, bandwidth, *refused)]
    assert devices.broken_promises(backend, chosen[0], chosen[1], chosen[2:]) == []
    copies = single_test("bw-rdwr", path="dma", size=4096, window="1M", transactions=2000).entries[0].parameters
    assert devices.broken_promises(backend, chosen[0], copies) == []
    assert stand_in.open_contexts == 0


def test_without_a_driver_a_run_names_the_package_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has an NVIDIA driver")
    assert command("run", "--device", "cuda", "--suite", "cuda-quick", "-o", tmp_path / "gpu.db") == 2
    said = stderr_of(capsys)
    assert "no CUDA driver" in said
    assert "pcielab[cuda13]" in said
    assert list(tmp_path.iterdir()) == []
    assert command("devices", "list", "--format", "csv") == 0
    assert "cuda,an NVIDIA GPU" in capsys.readouterr().out
    assert command("devices", "show", "cuda", "--format", "csv") == 0
    assert "device.read,load" in capsys.readouterr().out
