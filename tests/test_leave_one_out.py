"""A small version of `make leave-one-out`, with a snapshot that shows how a mechanism affects predictions.

Some constants of the device are fitted on one machine; another is calibrated on its pack, and some of its other
rows are predicted. The snapshot has the mean errors; if they become smaller, renew it: `PCIELAB_SNAPSHOT=renew`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from measured_data import DATA, PACK, SYSTEMS
from pack_folder import write_pack_folder
from pcielab import open_store, resolve, simulate
from pcielab.analysis.calibrate import Measured, calibrate, read_measured, read_pack
from pcielab.analysis.calibrate.card import fit_card
from pcielab.analysis.calibrate.measured import Row
from pcielab.analysis.calibrate.twin import Predicted, Twin
from pcielab.analysis.validate import score, write_bands
from pcielab.formats.exporters import export
from pcielab.formats.importers import import_pcie_bench
from pcielab.formats.published import NFP6000_TIMER
from pcielab.library.suites import load_suite

SCORER = DATA.parent.parent / "tools" / "score.py"
SNAPSHOT = Path(__file__).parent / "snapshots" / "leave_one_out.json"
CONSTANTS = ("device.dma.read_overhead_ns", "device.dma.write_overhead_ns", "device.dma.engine.segment_ns")
PREDICTED_ROWS = 120

pytestmark = [
    pytest.mark.published,
    pytest.mark.skipif(
        not (SYSTEMS and PACK.is_file()),
        reason="PCIELAB_DATA does not name the published measurements with a calibration pack in the folder above",
    ),
]


def folder_of(ending: str) -> Path:
    """The published folder whose name has this ending."""
    return next(path for path in SYSTEMS if path.name.endswith(ending))


@pytest.mark.long("fits constants of the card on one machine, calibrates another and predicts its rows")
def test_predictions_of_a_machine_are_as_close_as_in_the_snapshot(tmp_path: Path) -> None:
    pack = read_pack(PACK)
    fitted = fit_card([read_measured(folder_of("s0-s0-s0"))], pack, only=CONSTANTS, rows_per_machine=20)
    machine = folder_of("v3_dell-t630")
    assert write_pack_folder(machine, PACK, tmp_path / machine.name) == 81
    constants = {key: one.value for key, one in fitted.items()}
    twin = calibrate(read_measured(tmp_path / machine.name), "twin", constants=constants)
    assert twin.refresh_known
    found = errors(twin.system, outside(read_measured(machine), pack))
    if os.environ.get("PCIELAB_SNAPSHOT") == "renew":
        SNAPSHOT.write_text(json.dumps(found, indent=1) + "\n")
    expected = json.loads(SNAPSHOT.read_text())
    assert found == {key: pytest.approx(value, rel=0.02) for key, value in expected.items()}


@pytest.mark.slow
def test_a_machine_with_idle_states_is_predicted(tmp_path: Path) -> None:
    machine = folder_of("fujitsu-tx1310")
    write_pack_folder(machine, PACK, tmp_path / machine.name)
    twin = calibrate(read_measured(tmp_path / machine.name), "twin")
    (tmp_path / "twin.toml").write_text(twin.to_toml())
    rows = outside(read_measured(machine), read_pack(PACK), names=("BW_DMA_RD", "LAT_"))
    percents, _, medians = differences(twin.system, rows)
    assert np.median(percents) <= 8
    assert np.median(medians) <= float(NFP6000_TIMER.tick_ns) + 0.01
    import_pcie_bench(machine, tmp_path / "measured.db")
    bands = write_bands(resolve(str(tmp_path / "twin.toml")).system, open_store(tmp_path / "measured.db"))
    assert sum(band.inside for band in bands) / len(bands) >= 0.8


def outside(
    measured: Measured, pack: set[tuple[str, str, str, int, int]], names: tuple[str, ...] = ("",)
) -> list[Row]:
    """Rows outside the pack whose names begin with one of `names`, spread over the suite."""
    rows = [row for row in measured.rows if row.key not in pack and row.name.startswith(names)]
    return [rows[round(index)] for index in np.linspace(0, len(rows) - 1, PREDICTED_ROWS)]


def differences(system: dict[str, object], rows: list[Row]) -> tuple[list[float], list[float], list[float]]:
    """Errors of a twin, row by row: bandwidths in %, averages and medians in ns."""
    [predicted] = Twin(system, rows).predict([{}])
    pairs = list(zip(rows, predicted, strict=True))
    bandwidths = [
        100 * abs(one.bandwidth_gbps / row.bandwidth_gbps - 1)
        for row, one in pairs
        if row.bandwidth_gbps and one.bandwidth_gbps
    ]
    averages = [abs(one.average_ns - row.average_ns) for row, one in pairs if row.average_ns and one.average_ns]
    medians = [abs(median_ns(one) - row.median_ns) for row, one in pairs if row.median_ns]
    return bandwidths, averages, medians


def errors(system: dict[str, object], rows: list[Row]) -> dict[str, float]:
    """Mean errors of a twin: bandwidths in %, latencies in ns."""
    found = zip(("bandwidth_percent", "average_ns", "median_ns"), differences(system, rows), strict=True)
    return {name: round(float(np.mean(values)), 3) for name, values in found}


def median_ns(predicted: Predicted) -> float:
    """The median as the device's timer shows it."""
    tick = next(tick for tick, _ in predicted.ticks if predicted.share_up_to(tick) >= 0.5)
    return tick * float(NFP6000_TIMER.tick_ns)


@pytest.mark.skipif(not SCORER.is_file(), reason="needs tools/score.py of the published data")
def test_scores_equal_those_of_the_reference_scorer(tmp_path: Path) -> None:
    """Both score the quick suite of a shipped twin."""
    machine = folder_of("v3_dell-t630")
    simulate(resolve("hsw2620"), load_suite("quick"), tmp_path / "twin.db")
    export(open_store(tmp_path / "twin.db"), "pcie-bench", tmp_path / "twin")
    done = subprocess.run(
        [sys.executable, SCORER, machine, tmp_path / "twin", "--json"], capture_output=True, text=True, check=True
    )
    reference = json.loads(done.stdout)
    import_pcie_bench(machine, tmp_path / "measured.db")
    result = score(open_store(tmp_path / "measured.db"), open_store(tmp_path / "twin.db"))
    table = result.by_test.set_index(["group", "metric"])
    for name, group, metric in (
        ("bandwidth APE %, all", "all", "bandwidth"),
        ("bandwidth APE %, BW_DMA_RW", "BW_DMA_RW", "bandwidth"),
        ("bandwidth APE %, windows >= 512K", "windows of 512 KiB and more", "bandwidth"),
        ("latency |median error| ns, all", "all", "median latency"),
        ("latency |average error| ns, all", "all", "average latency"),
    ):
        ours, theirs = table.loc[(group, metric)], reference[name]
        assert ours["rows"] == theirs["rows"], name
        for column, key in (("median", "median"), ("mean", "mean"), ("p95", "p95"), ("maximum", "max")):
            assert ours[column] == pytest.approx(theirs[key], abs=1e-6), (name, key)
    share = reference["latency medians within one timer tick, share"]
    assert result.medians_within_a_tick == pytest.approx(share)
    assert result.missing + len(result.comparison.rows) == reference["rows measured"]
