"""A shipped system against the measurements of the machine that it describes, as the published files have both."""

import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from pcielab import open_store, resolve
from pcielab.analysis.compare import compare
from shell import succeed

DATA = os.environ.get("PCIELAB_DATA", "")
pytestmark = [
    pytest.mark.published,
    pytest.mark.skipif(not DATA, reason="PCIELAB_DATA does not name the published measurements"),
]


@dataclass(frozen=True)
class Closeness:
    """How far the rows of a simulated system are from the measured ones."""

    rows: pd.DataFrame
    without_partner: int

    @property
    def bandwidth_percent(self) -> float:
        """Mean size of the relative differences."""
        return float(self.rows["bandwidth_difference_percent"].abs().mean())

    @property
    def median_latency_ns(self) -> pd.Series:
        """Sizes of the differences."""
        return self.rows["median_difference_ns"].dropna().abs()


def closeness(system: str, suite: str, folder: Path) -> Closeness:
    """Run a suite, write it in the published format, read that and the measurements, and pair their rows."""
    directory = Path(DATA) / resolve(system).provenance["system"].source.split()[0].rstrip(":")
    succeed("run", "--profile", system, "--suite", suite, "-o", folder / "run.db")
    succeed("export", "pcie-bench", folder / "run.db", "-o", folder / "published")
    for source, name in ((folder / "published", "simulated"), (directory, "measured")):
        succeed("import", "pcie-bench", source, "-o", folder / f"{name}.db")
    simulated, measured = (open_store(folder / f"{name}.db") for name in ("simulated", "measured"))
    assert (simulated.origin, measured.origin) == ("simulated", "measured")
    compared = compare(simulated, measured)
    return Closeness(compared.rows, compared.alone_b if suite == "paper" else compared.alone_a)


def test_the_quick_suite_on_snb_is_close_to_what_was_measured(tmp_path: Path) -> None:
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
