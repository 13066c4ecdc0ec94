"""What a card does wrong is told, never measured; and what it cannot do is refused by its limit."""

from pathlib import Path

import pytest

from pcielab import devices, open_store, single_test
from pcielab.devices.cuda import opened
from pcielab.devices.cuda.backend import CudaBackend
from pcielab.devices.cuda.driver import Card
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


def message(tmp_path: Path) -> str:
    store = open_store(tmp_path / "gpu.db")
    assert list(store.tests["status"]) == ["failed"]
    assert store.scalars.get("bandwidth") is None or store.scalars["bandwidth"].isna().all()
    return str(store.tests["message"].iloc[0])


@pytest.mark.parametrize(
    ("faults", "test", "told"),
    [
        (
            {"wrong_reads": ("latency_read_8",)},
            LATENCY,
            "wrong data: what 3000 transfers of 8 bytes read adds up to",
        ),
        ({"wrong_reads": ("bandwidth_16",)}, READS, "transfers of 64 bytes read adds up to"),
        ({"wrong_reads": ("bandwidth_16",)}, BOTH, "transfers of 64 bytes read adds up to"),
        ({"wrong_writes": True}, WRITES, "words of the window are not as bw-wr should have written"),
        ({"wrong_writes": True}, PAIRS, "wrong data"),
        ({"wrong_copies": True}, COPIES, "are not as bw-rd should have read them"),
        ({"wrong_copies": True}, COPIES_OUT, "are not as bw-wr should have written them"),
        ({"lazy": True}, LATENCY, "latency_read_8: 2999 of 3000 transfers were made"),
        ({"lazy": True}, READS, "transfers were made"),
        ({"failing_launches": {"bandwidth_16": "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}}, READS, "OUT_OF_RESOURCES"),
        ({"slow_events": True}, (*LATENCY[:-1], "20000"), "clocks disagree"),
    ],
)
def test_a_test_that_goes_wrong_fails_and_gives_no_number(
    stand_in: StandIn, tmp_path: Path, faults: dict[str, object], test: tuple[str, ...], told: str
) -> None:
    faults_in_order(stand_in, faults)
    assert run(tmp_path, *test) == 1
    assert told in message(tmp_path)
    assert stand_in.open_contexts == 0


def faults_in_order(stand_in: StandIn, faults: dict[str, object]) -> None:
    """Orders faults that the checks at the opening do not come by."""
    stand_in.faults = Faults(**faults)  # type: ignore[arg-type]
    if stand_in.faults.lazy:
        # The checks read lines with the same kernels: they are left as they are.
        check = stand_in._latency
        stand_in.faults.lazy = False

        def only_when_measured(kernel: str, blocks: int, *arguments: int) -> None:
            stand_in.faults.lazy = kernel.endswith("_8")
            check(kernel, blocks, *arguments)

        stand_in._latency = only_when_measured  # type: ignore[method-assign]
        stand_in.faults.lazy = True


def test_a_bandwidth_above_that_of_the_link_is_no_number(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = devices.LinkFacts(rate_gtps=8.0, lanes=4, mps_bytes=256, mrrs_bytes=512)
    monkeypatch.setattr("pcielab.devices.cuda.device.link_state", lambda _address: Link(slow))
    assert run(tmp_path, *READS[:-1], "100000") == 1
    assert "Gb/s is above what the link carries" in message(tmp_path)


class Link:
    """A link that says what a test wants it to."""

    def __init__(self, facts: devices.LinkFacts) -> None:
        self._facts = facts

    def facts(self, _place: object) -> devices.LinkFacts:
        return self._facts

    def conditions(self, _name: str) -> list[devices.Condition]:
        return []

    def remark(self, _place: object) -> str:
        return "link is running at 8 GT/s x4; both ends support 16 GT/s x16"


def test_a_link_below_what_its_ends_can_is_spoken_of(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = devices.LinkFacts(rate_gtps=32.0, lanes=16, mps_bytes=256, mrrs_bytes=512)
    monkeypatch.setattr("pcielab.devices.cuda.device.link_state", lambda _address: Link(fast))
    backend = devices.open_kind("cuda", sets={"host.buffer_bytes": 4 << 20})
    devices.run(backend, single_test("bw-rd", path="command", size=64, window="64K"), tmp_path / "gpu.db")
    assert "both ends support 16 GT/s x16" in open_store(tmp_path / "gpu.db").tests["message"].iloc[0]


@pytest.mark.parametrize("code", ["CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_ECC_UNCORRECTABLE"])
def test_a_card_that_is_gone_ends_the_run_at_once(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str
) -> None:
    stand_in.faults.failing_launches = {"latency_read_8": code}
    assert run(tmp_path, *LATENCY) == 1
    assert (
        f"Stand-in (sm_90) was lost in single LAT_CMD_RD of suite single: cuLaunchKernel: on purpose ({code})"
        in " ".join(capsys.readouterr().err.split())
    )
    assert list(open_store(tmp_path / "gpu.db").tests["status"]) == ["interrupted"]
    # Nothing is asked of it any more: not to give its context back either.
    assert stand_in.open_contexts == 1


def test_a_launch_that_overruns_is_told_to_stop_and_the_next_test_works(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened, "LAUNCH_SECONDS", 0.2)
    stand_in.faults.hanging = ("latency_read_8",)
    assert run(tmp_path, *LATENCY) == 1
    assert "latency_read_8 did not end within 0.2 s: it was told to stop, and did" in message(tmp_path)
    assert stand_in.open_contexts == 0


def test_a_card_that_heeds_nothing_is_lost(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.faults.hanging, stand_in.faults.deaf = ("latency_read_8",), True
    assert run(tmp_path, *LATENCY) == 1
    told = " ".join(capsys.readouterr().err.split())
    limits = (
        f"did not end within {opened.LAUNCH_SECONDS:g} s, nor within {opened.STOP_SECONDS:g} s of being told to"
    )
    assert limits in told


def test_reads_from_a_cache_of_the_card_are_found_before_anything_is_measured(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.faults.cached = True
    assert run(tmp_path, *LATENCY) == 2
    assert "of 8 values that the host wrote, a kernel saw 0: device.read is load" in " ".join(
        capsys.readouterr().err.split()
    )
    assert not (tmp_path / "gpu.db").exists()


OTHER = Card(
    **{**vars(CARD), "number": 1, "name": "Another", "address": "0000:99:00.0", "compute_mode": "prohibited"}
)


@pytest.mark.parametrize(
    ("device", "faults", "told"),
    [
        ("cuda:3", {}, "there is cuda:0 (Stand-in, ffff:ff:1f.7), cuda:1 (Another, 0000:99:00.0)"),
        ("cuda:1", {}, "its compute mode prohibits contexts"),
        ("cuda:x", {}, "--device cuda:x: give the number of a card, such as cuda:0"),
        ("cuda", {"exclusive": True}, "another process has it to itself"),
        ("cuda", {"refused_registrations": 1}, "refused to register the buffer"),
    ],
)
def test_a_card_that_cannot_be_opened_is_refused_and_no_store_is_left(
    stand_in: StandIn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    device: str,
    faults: dict[str, object],
    told: str,
) -> None:
    stand_in._cards.append(OTHER)
    stand_in.faults = Faults(**faults)  # type: ignore[arg-type]
    assert command("run", "--device", device, *LATENCY, *BUFFER, "-o", tmp_path / "gpu.db") == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "gpu.db").exists()
    assert stand_in.open_contexts == 0


@pytest.mark.parametrize(
    ("test", "told"),
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
        (("--test", "bw-rd", "--path", "command", "--outstanding", "129"), "128 warps at most"),
        (("--test", "bw-rd", "--path", "command", "--window", "8M"), "the buffer has 4194304 bytes"),
    ],
)
def test_what_a_card_cannot_do_is_not_supported_by_its_limit(
    stand_in: StandIn, tmp_path: Path, test: tuple[str, ...], told: str
) -> None:
    assert run(tmp_path, *test) == 1
    tests = open_store(tmp_path / "gpu.db").tests
    assert list(tests["status"]) == ["not-supported"]
    assert told in tests["message"].iloc[0]


def test_a_card_that_is_closed_twice_is_given_back_once(stand_in: StandIn) -> None:
    device, _ = CudaBackend(CudaOptions(host=CudaHostOptions(buffer_bytes=1 << 20)), 0).open()
    device.close()
    device.close()
    assert stand_in.open_contexts == 0


def test_bulk_reads_are_refused_where_the_card_has_none(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in._cards[0] = Card(**{**vars(CARD), "architecture": 80})
    with pytest.raises(devices.UnavailableError, match=r"is sm_80, and bulk copies are there from sm_90 on"):
        CudaBackend(CudaOptions(device=CardOptions(read="bulk")), 0, lambda: stand_in).open()


@pytest.mark.parametrize("kind", ["coherent", "integrated"])
def test_a_card_that_is_not_on_pcie_is_labelled_so(stand_in: StandIn, tmp_path: Path, kind: str) -> None:
    stand_in._cards[0] = Card(**{**vars(CARD), kind: True})
    assert run(tmp_path, *LATENCY) == 0
    device = open_store(tmp_path / "gpu.db").manifest["device"]
    assert "not on PCIe" in device["name"]
    assert device["link"] is None


def test_the_contract_of_back_ends_is_kept(stand_in: StandIn) -> None:
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


def test_without_a_driver_a_run_says_what_to_install_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("there is an NVIDIA driver here")
    assert command("run", "--device", "cuda", "--suite", "cuda-quick", "-o", tmp_path / "gpu.db") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "no CUDA driver" in told
    assert "pcielab[cuda13]" in told
    assert list(tmp_path.iterdir()) == []
    assert command("devices", "list", "--format", "csv") == 0
    assert "cuda,an NVIDIA GPU" in capsys.readouterr().out
    assert command("devices", "show", "cuda", "--format", "csv") == 0
    assert "device.read,load" in capsys.readouterr().out
