"""`pcielab run --device cuda` from the command to the report, over a stand-in for the driver."""

from pathlib import Path
from typing import Any

import pytest

from moments import wait_until
from pcielab import RunError, devices, load_suite, open_store
from suite_texts import suite_text, transfers

from .command import command
from .stand_in import StandIn

_WARM: dict[str, Any] = {"windows": ["1M"], "caches": ["host-warm"], "transactions": 5000}
SMALL = suite_text(
    transfers(
        *("lat_cmd_{direction}", "LAT_CMD_RD LAT_CMD_WRRD", 8, 64),
        windows=["64K"], caches=["cold", "host-warm", "device-warm", "device-thrash"], transactions=2000,
    ),
    transfers("bw_cmd_{direction}", "BW_CMD_RD BW_CMD_WR BW_CMD_RW", 4, 60, 4096, **_WARM),
    transfers(
        *("bw_cmd_outstanding", "BW_CMD_RD", 64),
        loop=["outstanding"], outstanding=[1, 2, 4, 8, 16, 32, 64], **_WARM,
    ),
    transfers(
        *("bw_dma_{direction}", "BW_DMA_RD BW_DMA_WR BW_DMA_RW", "4K", "1M"),
        windows=["4M"], caches=["host-warm"], patterns=["sequential"], transactions=2000,
    ),
)  # fmt: skip
"""Each kind of test of a GPU."""
TESTS = 38


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def run(suite: Path | str, output: Path, *options: str) -> int:
    return command("run", "--device", "cuda", "--suite", suite, "-o", output, *options)


BUFFER = ("--set", "host.buffer_bytes=8M")


def test_a_suite_runs_and_makes_a_report(
    stand_in: StandIn, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(suite, tmp_path / "gpu.db", *BUFFER) == 0, capsys.readouterr().err
    store = open_store(tmp_path / "gpu.db")
    failed = store.tests[store.tests["status"] != "ok"]
    assert failed.empty, list(failed["message"])
    assert len(store.tests) == TESTS
    assert store.origin == "measured"
    assert store.manifest["device"]["name"] == "Stand-in (sm_90)"
    assert stand_in.open_contexts == 0
    assert stand_in.host_thrashes == TESTS
    assert command("report", tmp_path / "gpu.db", "-o", tmp_path / "gpu.html") == 0, capsys.readouterr().err
    page = (tmp_path / "gpu.html").read_text()
    assert "MEASURED" in page
    assert "SIMULATED" not in page


def test_the_store_describes_device_host_and_conditions(stand_in: StandIn, suite: Path, tmp_path: Path) -> None:
    run(suite, tmp_path / "gpu.db", *BUFFER)
    store = open_store(tmp_path / "gpu.db")
    device, host = store.manifest["device"], store.manifest["host"]
    assert device["operations"][0] == "command lat-rd"
    assert device["latency_includes"] == ["processor", "timer"]
    assert (host["buffer_bytes"], host["cold"]) == (8 << 20, "thrash")
    assert store.manifest["backend"]["device"] == {"read": "load", "link": None}
    conditions = store.scalar_rows[store.scalar_rows["subject"] == "condition"]
    assert set(conditions[conditions["metric"] == "timer_step"]["value"]) == {32.0}
    assert set(conditions[conditions["metric"] == "clock_reading"]["value"]) == {20.0}
    latency = store.scalars.query("name == 'LAT_CMD_RD'").iloc[0]
    # The stand-in's round trip: a tick is a cycle at the measured clock.
    assert abs(latency["median"] - stand_in.round_trip_ns) < 2


def test_warps_are_doubled_until_more_gain_no_bandwidth(stand_in: StandIn, tmp_path: Path) -> None:
    one = ("--test", "bw-rd", "--path", "command", "--size", "64", "--window", "1M", "--transactions", "100000")
    stand_in.round_trip_ns, stand_in.bytes_per_ns = 1000.0, 4.0
    assert command("run", "--device", "cuda", *one, *BUFFER, "-o", tmp_path / "one.db") == 0
    rows = open_store(tmp_path / "one.db").scalar_rows
    # A transfer takes 16 ns on the link, so 62.5 of them fill a round trip.
    assert rows[rows["metric"] == "warps"]["value"].iloc[0] == 64
    assert abs(rows[rows["metric"] == "bandwidth"]["value"].iloc[0] - 32.0) < 0.5


def test_a_changed_clock_is_reported(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.faults.slow_clock = 0.9
    one = ("--test", "lat-rd", "--path", "command", "--size", "8", "--window", "64K", "--samples", "full")
    count = ("--transactions", "60000")
    assert command("run", "--device", "cuda", *one, *count, *BUFFER, "-o", tmp_path / "one.db") == 0
    store = open_store(tmp_path / "one.db")
    assert "the processor's clock varied between 1782 and 1980 MHz" in store.tests["message"].iloc[0]


def test_an_interrupted_run_releases_the_gpu_and_can_be_resumed(
    stand_in: StandIn, suite: Path, tmp_path: Path
) -> None:
    tests = load_suite(str(suite))
    for number in range(1, TESTS, 12):
        output = tmp_path / f"{number}.db"

        def stop(done: int, *_state: object, number: int = number) -> None:
            if done >= number:
                raise KeyboardInterrupt

        backend = devices.open_kind("cuda", sets={"host.buffer_bytes": 4 << 20})
        with pytest.raises(RunError, match="continue with --resume"):
            devices.run(backend, tests, output, progress=stop)
        # The device may be closed after the run has ended.
        wait_until(lambda: stand_in.open_contexts == 0)
        stored = open_store(output)
        assert number <= (stored.tests["status"] == "ok").sum() < TESTS
    devices.run(backend, tests, output, resume=True)
    assert set(open_store(output).tests["status"]) == {"ok"}
