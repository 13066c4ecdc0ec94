"""Shipped profiles and suites are found through the installed package, however it was installed, and run."""

from pathlib import Path

import pytest

from pcielab import open_store
from pcielab.devices.running import simulate
from pcielab.library import profiles, shipped
from pcielab.library.suites import load_suite, names
from suite_texts import suite_text, transfers

SYSTEMS = profiles.names("system")
EVERY_BENCHMARK = suite_text(
    transfers(
        *("dma_{direction}", "LAT_DMA_RD LAT_DMA_WRRD BW_DMA_RD BW_DMA_WR BW_DMA_RW", 64),
        windows=["1M"], caches=["cold", "device-thrash", "device-warm", "host-warm"], transactions=4096,
    ),
    transfers(
        *("cmd_{direction}", "LAT_CMD_RD LAT_CMD_WRRD", 8),
        caches=["host-warm"], patterns=["sequential"], transactions=4096,
    ),
)  # fmt: skip


@pytest.mark.parametrize("kind", ["profiles", "suites"])
def test_shipped_folders_exist(kind: str) -> None:
    assert (shipped.directory(kind) / "README.md").is_file()


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_benchmark_runs_on_a_shipped_system(system: str, tmp_path: Path) -> None:
    suite, output = tmp_path / "tiny.toml", tmp_path / "run.db"
    suite.write_text(EVERY_BENCHMARK)
    resolved = profiles.resolve(system)
    simulate(resolved, load_suite(str(suite)), output)
    results = open_store(output).scalars
    has_command_path = resolved.system.device.command is not None
    for _, test in results.iterrows():
        latency = str(test["operation"]).startswith("lat")
        number = test["median" if latency else "bandwidth"]
        if test["path"] == "dma" or has_command_path:
            assert test["status"] == "ok"
            assert number > 0
        else:
            assert (test["status"], number == number) == ("not-supported", False)
            assert "no command path" in test["message"]


def test_only_the_netronome_device_has_a_command_path() -> None:
    without = [name for name in SYSTEMS if profiles.resolve(name).system.device.command is None]
    assert without == ["clx-6234", "gen5-gpu", "gen5-x16", "icx-6346", "kpio-2012", "netfpga-hsw"]


@pytest.mark.parametrize(("system", "multiple_bytes"), [("netfpga-hsw", 4), ("gen5-x16", 1)])
def test_a_suite_with_unsupported_tests_runs_to_its_end(system: str, multiple_bytes: int, tmp_path: Path) -> None:
    assert "quick" in names()
    output = tmp_path / "run.db"
    simulate(profiles.resolve(system), load_suite("quick"), output)
    tests = open_store(output).tests
    takes = (tests["path"] == "dma") & (tests["size_bytes"] % multiple_bytes == 0)
    assert takes.any()
    assert tests["status"].where(takes, "ok").eq("ok").all()
    assert tests["status"].mask(takes, "not-supported").eq("not-supported").all()
