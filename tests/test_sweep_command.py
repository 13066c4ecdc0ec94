"""`pcielab sweep`, on this machine and on a Dask cluster whose workers are killed during the sweep."""

import json
import os
import random
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pcielab import RunError, sweeps
from shell import refuse, succeed

THOROUGH = bool(os.environ.get("PCIELAB_THOROUGH"))
SPEC = """\
name = "windows"
title = "Reads over windows and DDIO ways"
system = "ib-000"

[set]
"host.iommu.walk_ns" = 300

[test]
test = "lat-rd"
cache = "device-warm"

[grid]
"host.llc.ddio_ways" = [1, 2, 4]
window = ["64K", "1M", "16M"]
"""
SOBOL = """
[draw]
method = "sobol"
count = 4
[draw.between]
"host.root_complex.read_ns" = { low = 200, high = 600 }
"host.memory.miss_ns" = { low = 40, high = 90, scale = "log" }
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "windows.toml"
    path.write_text(SPEC)
    return path


def test_a_sweep_writes_one_table_with_the_results_of_run(spec: Path, tmp_path: Path) -> None:
    succeed("sweep", spec, "-o", tmp_path / "out")
    table = pd.read_parquet(tmp_path / "out" / "results.parquet")
    assert table.columns[:6].tolist() == [
        "operation", "cache", "host.llc.ddio_ways", "window_bytes", "origin", "status",
    ]  # fmt: skip
    row = table[(table["host.llc.ddio_ways"] == 2) & (table["window_bytes"] == 16 << 20)].iloc[0]
    words = ["--test", "lat-rd", "--cache", "device-warm", "--window", "16M", "--profile", "ib-000"]
    sets = ["--set", "host.iommu.walk_ns=300", "--set", "host.llc.ddio_ways=2"]
    printed = succeed("run", *words, *sets, "-o", tmp_path / "one.db", "--format", "json").stdout
    [single] = json.loads(printed)
    assert (single["median_ns"], single["p99_ns"]) == (row["median_ns"], row["p99_ns"])


def test_a_sweep_of_lists_is_printed_and_drawn(spec: Path, tmp_path: Path) -> None:
    printed = json.loads(succeed("sweep", spec, "-o", tmp_path / "out", "--format", "json").stdout)
    assert len(printed) == 9
    assert {"host.llc.ddio_ways", "window_bytes", "median_ns", "status"} <= set(printed[0])
    assert "SIMULATED" in (tmp_path / "out" / "points.svg").read_text()


def test_a_sweep_of_two_axes_is_a_heat_map_if_asked(spec: Path, tmp_path: Path) -> None:
    succeed("sweep", spec, "-o", tmp_path / "out", "--picture", "heat-map")
    drawn = (tmp_path / "out" / "points.svg").read_text()
    assert drawn.count("mark-rect role-mark") == 1
    assert "SIMULATED" in drawn
    for number, text in enumerate((SPEC.replace("[1, 2, 4]", "[1]"), SPEC.partition("[grid]")[0] + SOBOL)):
        spec.write_text(text)
        refused = refuse("sweep", spec, "-o", tmp_path / str(number), "--picture", "heat-map")
        assert "--picture heat-map: draws lists of two axes or three" in refused


def test_a_sweep_draws_nothing_if_asked(spec: Path, tmp_path: Path) -> None:
    succeed("sweep", spec, "-o", tmp_path / "out", "--picture", "none")
    assert (tmp_path / "out" / "results.parquet").exists()
    assert not (tmp_path / "out" / "points.svg").exists()


def test_a_sweep_is_resumed_only_if_asked(spec: Path, tmp_path: Path) -> None:
    succeed("sweep", spec, "-o", tmp_path / "out")
    assert "--resume" in refuse("sweep", spec, "-o", tmp_path / "out")
    spec.write_text(SPEC.replace("[1, 2, 4]", "[1, 2, 4, 8]"))
    said = succeed("sweep", spec, "-o", tmp_path / "out", "--resume").stderr
    assert said.startswith("3 points simulated, 9 known")


def test_sobol_indices_are_printed_and_written_with_a_picture(spec: Path, tmp_path: Path) -> None:
    spec.write_text(SPEC.partition("[grid]")[0] + SOBOL)
    printed = succeed("sweep", spec, "-o", tmp_path / "out", "--format", "csv").stdout
    assert printed.startswith("knob,first_order,")
    assert (tmp_path / "out" / "sensitivity.csv").read_text().count("\n") == 3
    assert "SIMULATED" in (tmp_path / "out" / "sensitivity.svg").read_text()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("title", "titel"), "titel"),
        (("[1, 2, 4]", "[1, 2, 400]"), "ddio_ways"),
        (('"host.llc.ddio_ways" =', '"host.llc.dio_ways" ='), "did you mean"),
        (('system = "ib-000"', 'system = "ib-0"'), "no system profile is named"),
        (('cache = "device-warm"', 'cache = "device-warm"\nwindow = "4K"'), "is in two tables"),
        (('test = "lat-rd"', 'test = "bw-ld"'), "--test bw-ld"),
    ],
)
def test_a_wrong_key_is_named(spec: Path, tmp_path: Path, change: tuple[str, str], expected: str) -> None:
    spec.write_text(SPEC.replace(*change))
    assert expected in refuse("sweep", spec, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_sweep_without_its_scheduler_fails_and_can_be_resumed(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pcielab.sweeps.cluster._CONNECTION_SECONDS", 0.3)
    plan = sweeps.load_sweep(spec)
    with pytest.raises(RunError, match="no scheduler answers there"):
        sweeps.carry_out(plan, tmp_path / "out", work=sweeps.Work(dask="tcp://127.0.0.1:1"))
    assert sweeps.carry_out(plan, tmp_path / "out", resume=True).computed == plan.count


def test_a_scheduler_without_workers_is_not_waited_for(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("pcielab.sweeps.cluster._WITHOUT_WORKERS_SECONDS", 0.3)
    with distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs=60) as running:
        work = sweeps.Work(dask=running.scheduler_address)
        with pytest.raises(RunError, match=r"has had no worker for 0\.3 s.*--resume"):
            sweeps.carry_out(sweeps.load_sweep(spec), tmp_path / "out", work=work)


def _started(cluster: Any) -> list[int]:
    """Processes of the workers that the scheduler knows; killed while it starts, one is not always replaced."""
    known = set(cluster.scheduler_info["workers"])
    return [nanny.pid for nanny in cluster.workers.values() if nanny.pid and nanny.worker_address in known]


@pytest.fixture
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=60
    ) as running:
        yield running


def test_workers_that_are_killed_change_no_byte(
    spec: Path, tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More points than the scheduler holds: ten thousand in `make sweep-kills`, a hundred in `make test`."""
    if not THOROUGH:
        monkeypatch.setattr("pcielab.sweeps.cluster._WAITING_MOST", 3)
    sizes = list(range(64, 64 + 3344, 1 if THOROUGH else 100))
    spec.write_text(SPEC.replace('["64K", "1M", "16M"]', '["64K"]') + f"size = {sizes}\n")
    plan = sweeps.load_sweep(spec)
    sweeps.carry_out(plan, tmp_path / "serial", work=sweeps.Work(jobs=1))
    chance, killed, kills = random.Random(1), [0], 12 if THOROUGH else 3

    def progress(done: int, total: int, _what: str) -> None:
        # Kills are spread over the sweep; each costs the start of a worker.
        if done * kills < len(killed) * total:
            return
        if alive := [process for process in _started(cluster) if process not in killed]:
            killed.append(chance.choice(alive))
            # The cluster may not have noticed the last kill yet.
            with suppress(ProcessLookupError):
                os.kill(killed[-1], signal.SIGKILL)

    work = sweeps.Work(dask=cluster.scheduler_address)
    sweeps.carry_out(plan, tmp_path / "killed", work=work, progress=progress)
    assert len(killed) > (5 if THOROUGH else 1)
    tables = [(tmp_path / name / "results.parquet").read_bytes() for name in ("serial", "killed")]
    assert tables[0] == tables[1]
    assert len(pd.read_parquet(tmp_path / "killed" / "results.parquet")) == plan.count == 3 * len(sizes)
