"""Simulated rows of shipped systems are close to the published measurements of the same machines."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from measured_data import DATA, needs_measurements
from pcielab import open_store, resolve
from pcielab.analysis.compare import compare
from shell import succeed

pytestmark = needs_measurements


@dataclass(frozen=True)
class Closeness:
    """Differences between the rows of a simulated system and the measured ones."""

    rows: pd.DataFrame
    without_partner: int

    @property
    def bandwidth_percent(self) -> float:
        """Mean absolute relative difference."""
        return float(self.rows["bandwidth_difference_percent"].abs().mean())

    @property
    def median_latency_ns(self) -> pd.Series:
        """Absolute differences of the medians."""
        return self.rows["median_difference_ns"].dropna().abs()


def closeness(system: str, suite: str, folder: Path) -> Closeness:
    """Run a suite, export and import it in the published format, and pair its rows with the measured ones."""
    directory = DATA / resolve(system).provenance["system"].source.split()[0].rstrip(":")
    succeed("run", "--profile", system, "--suite", suite, "-o", folder / "run.db")
    succeed("export", "pcie-bench", folder / "run.db", "-o", folder / "published")
    for source, name in ((folder / "published", "simulated"), (directory, "measured")):
        succeed("import", "pcie-bench", source, "-o", folder / f"{name}.db")
    simulated, measured = (open_store(folder / f"{name}.db") for name in ("simulated", "measured"))
    assert (simulated.origin, measured.origin) == ("simulated", "measured")
    compared = compare(simulated, measured)
    return Closeness(compared.rows, compared.alone_b if suite == "paper" else compared.alone_a)


def test_the_quick_suite_on_snb_is_close_to_the_measurements(tmp_path: Path) -> None:
    found = closeness("snb", "quick", tmp_path)
    assert (len(found.rows), found.without_partner) == (81, 0)
    assert found.bandwidth_percent < 8
    assert found.median_latency_ns.mean() < 20


@pytest.mark.slow
@pytest.mark.parametrize(("system", "measured_rows"), [("snb", 2472), ("ib-000", 2052)])
def test_the_whole_suite_has_every_measured_row_and_is_close(
    system: str, measured_rows: int, tmp_path: Path
) -> None:
    found = closeness(system, "paper", tmp_path)
    assert (len(found.rows), found.without_partner) == (measured_rows, 0)
    assert set(open_store(tmp_path / "run.db").tests["status"]) == {"ok"}
    assert found.bandwidth_percent < 15
    assert found.median_latency_ns.median() < 40
