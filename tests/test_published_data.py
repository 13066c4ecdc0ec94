"""Every row of measured systems is imported, and exported as the same number at the same position.

Three of the twelve systems, of each processor one; `make test-slow` takes all.
"""

import csv
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from measured_data import SYSTEMS, needs_measurements
from pcielab import Store, open_store
from pcielab.formats.exporters import export
from pcielab.formats.importers import import_pcie_bench

pytestmark = needs_measurements


# One with an IOMMU here: its conversion is that of the others.
TAKEN = [
    path if number == 5 else pytest.param(path, marks=pytest.mark.slow) for number, path in enumerate(SYSTEMS)
]


@pytest.fixture(scope="module", params=TAKEN or [None], ids=lambda path: path.name if path else "none")
def system(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Store, Path]:
    """A published directory, its store, and the directory that the store exports."""
    folder = tmp_path_factory.mktemp("system")
    import_pcie_bench(request.param, folder / "run.db")
    store = open_store(folder / "run.db")
    export(store, "pcie-bench", folder / "exported")
    return request.param, store, folder / "exported"


def data_files(directory: Path) -> Iterator[Path]:
    return (path for path in directory.glob("*.csv") if not path.stem.endswith("_cdf"))


def test_there_are_as_many_tests_as_rows(system: tuple[Path, Store, Path]) -> None:
    directory, store, _ = system
    rows = {path.stem: len(path.read_text().splitlines()) - 1 for path in data_files(directory)}
    assert store.tests["family"].value_counts().to_dict() == rows
    assert len(store.tests) in (2052, 2472)


def test_every_csv_is_exported_equal(system: tuple[Path, Store, Path]) -> None:
    directory, _, exported = system
    for path in directory.glob("*.csv"):
        with path.open(newline="") as before, (exported / path.name).open(newline="") as after:
            for line, (old, new) in enumerate(zip(csv.reader(before), csv.reader(after), strict=True), start=1):
                assert len(old) == len(new)
                for cell, same in zip(old, new, strict=True):
                    assert cell == same or math.isclose(float(cell), float(same), rel_tol=1e-12), (path.name, line)


def test_other_files_are_exported_byte_for_byte(system: tuple[Path, Store, Path]) -> None:
    directory, _, exported = system
    others = [path for path in directory.iterdir() if path.suffix in (".dat", ".txt")]
    assert len(others) >= 15
    for path in others:
        assert (exported / path.name).read_bytes() == path.read_bytes(), path.name


def test_every_detailed_row_has_all_its_samples(system: tuple[Path, Store, Path]) -> None:
    _, store, _ = system
    details = store.scalars[store.scalars["details"]]
    assert len(details) == 24
    for test in details.to_dict("records"):
        assert store.distribution(test["id"])["count"].sum() == test["samples"] == 16777216


def test_families_are_in_run_order(system: tuple[Path, Store, Path]) -> None:
    _, store, _ = system
    families = store.tests["family"].drop_duplicates().tolist()
    assert families[:2] == ["lat_cmd_sizes", "lat_cmd_sweep_rd_rnd_08"]
    assert families[-1] == "bw_dma_off_wr"
    assert families.index("lat_dma_details") + 1 == families.index("bw_dma_sz_sweep")
