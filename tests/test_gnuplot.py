"""Exports can be plotted like the published data: sections by index, columns by number, modelled curves.

The scripts read as the published gnuplot templates do: `.dat` files by `index` and `using`, and `bw_calc.dat`. The
numbers in the stores are made up: each encodes its cache state, so that a wrong section shows.
"""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pcielab import open_store
from pcielab._core import StoreWriter
from pcielab.formats.exporters import export
from pcielab.formats.importers import import_pcie_bench
from pcielab.formats.published import FAMILIES, LATENCY_COLUMNS
from pcielab.library.suites import Suite, load_suite

GNUPLOT = shutil.which("gnuplot")
needs_gnuplot = pytest.mark.skipif(GNUPLOT is None, reason="needs gnuplot: apt install gnuplot-nox")

CACHES = {"cold": 1, "device-thrash": 2, "device-warm": 3, "host-warm": 4}
WINDOW, SIZE, BANDWIDTH, MEDIAN_NS = 6, 7, 12, 17
"""Columns of the `.dat` files, as gnuplot counts them, for `BW (GB/s)` and `Med(ns)`."""


def exported(suite: Suite, folder: Path) -> tuple[Path, Sequence[str]]:
    """A store of a suite with made-up numbers, in the published format, and the warnings of the export."""
    facts = {"device": {"name": "made up", "timer": {"numerator_ns": 40, "denominator": 3, "cycles": 16}}}
    with StoreWriter.create(folder / "run.db", json.dumps(facts | {"origin": "simulated"})) as writer:
        for number, test in enumerate(suite.tests):
            writer.write_test(json.dumps(record(test) | {"id": number, "status": "ok"}))
    warnings = export(open_store(folder / "run.db"), "pcie-bench", folder / "out")
    return folder / "out", warnings


def record(test: dict) -> dict:
    number = CACHES[test["parameters"]["cache"]]
    if test["name"].startswith("LAT_"):
        values = dict.fromkeys(LATENCY_COLUMNS.values(), (number * 160, "ns"))
        values |= {"outliers": (0, "1"), "samples": (10, "1")}
    else:
        values = {"time": (8e5, "ns"), "bytes": (number * 1e5, "B"), "transactions": (10, "1")}
        values |= {"bandwidth": (number, "Gb/s"), "rate": (12500, "1/s")}
    scalars = [{"metric": name, "unit": unit, "value": value} for name, (value, unit) in values.items()]
    bins = [{"metric": "latency", "tick": "40/3", "bins": [[12 * number, 10]]}]
    distributions = {"distributions": bins} if test["parameters"]["details"] else {}
    return test | {"parameters": json.dumps(test["parameters"]), "scalars": scalars} | distributions


def plotted(folder: Path, script: str) -> str:
    """The output of gnuplot for a script in a folder; it must succeed and find all data."""
    assert GNUPLOT is not None
    done = subprocess.run([GNUPLOT], input=script, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Cannot find" not in done.stderr, done.stderr
    assert "Skipping data file" not in done.stderr, done.stderr
    return done.stderr


def read_back(folder: Path, file: str, section: int, x: int, y: int) -> set[float]:
    """The numbers that a plot takes from a section of a file."""
    table = f'set table "table"; plot "{file}.dat" index {section} using {x}:{y}; unset table\n'
    plotted(folder, f"set yrange [0:100000]\n{table}")
    lines = [line.split() for line in (folder / "table").read_text().splitlines()]
    return {float(y) for _, y, kind in (line for line in lines if len(line) == 3) if kind == "i"}


@needs_gnuplot
def test_a_part_of_the_suite_keeps_the_section_of_each_cache_state(tmp_path: Path) -> None:
    folder, [warning] = exported(load_suite("demo"), tmp_path)
    for section, expected in enumerate([{1}, set(), set(), {4}]):
        assert read_back(folder, "bw_dma_win_sweep_rd_rnd_64", section, WINDOW, BANDWIDTH) == expected
        latency = {160 * number for number in expected}
        assert read_back(folder, "lat_cmd_sweep_wrrd_rnd_08", section, WINDOW, MEDIAN_NS) == latency
    assert read_back(folder, "bw_dma_off_wr_cold", 0, 4, BANDWIDTH) == set()
    assert "filled with NaN" in warning
    assert (
        "filled with NaN: 2 of 4 sections of bw_dma_win_sweep_rd_rnd_64.dat" in (folder / "ORIGIN.txt").read_text()
    )


@needs_gnuplot
@pytest.mark.parametrize("suite", ["demo", "paper"])
def test_plots_of_every_published_family_find_their_data(tmp_path: Path, suite: str) -> None:
    folder, _ = exported(load_suite(suite), tmp_path)
    lines = ["set terminal svg", "set yrange [0:100000]"]
    for family in FAMILIES:
        y = MEDIAN_NS if family.startswith("lat_") else BANDWIDTH
        curves = ', "bw_calc.dat" using 1:2 with lines, "pcie_bw.dat" using 1:4, "nic_bw.dat" using 1:5'
        lines += [
            f'set output "{family}.svg"',
            f'plot "{family}.dat" index 0 using {SIZE}:{y}, "" index 1 using {WINDOW}:{y}{curves}',
        ]
    lines.append("set xrange [0:2000]")
    lines += [f'plot "lat_{path}_details_cdf.dat" index 7 using 2:3' for path in ("cmd", "dma")]
    plotted(folder, "\n".join(lines) + "\n")
    assert len(list(folder.glob("*.svg"))) == len(FAMILIES)


def test_only_a_partial_export_is_filled_and_imports_keep_the_part(tmp_path: Path) -> None:
    for suite in ("paper", "demo"):
        (tmp_path / suite).mkdir()
    folder, warnings = exported(load_suite("paper"), tmp_path / "paper")
    assert not warnings
    filled = {path.name for path in folder.glob("*.dat") if "NaN" in path.read_text()}
    assert filled == {"bw_calc.dat", "pcie_bw.dat"}
    folder, _ = exported(load_suite("demo"), tmp_path / "demo")
    import_pcie_bench(folder, tmp_path / "again.db")
    assert len(open_store(tmp_path / "again.db").tests) == len(load_suite("demo").tests)


def test_tests_of_another_shape_are_exported_with_a_warning(tmp_path: Path) -> None:
    odd = [
        replace(test, parameters=replace(test.parameters, window_bytes=65536))
        for test in load_suite("demo").entries
        if test.family == "lat_cmd_sizes"
    ]
    _, warnings = exported(Suite.of("odd", "odd", odd), tmp_path)
    assert any("lat_cmd_sizes: sections that the published suite does not have" in line for line in warnings)


def test_the_modelled_curves_are_those_of_the_paper(tmp_path: Path) -> None:
    folder, _ = exported(load_suite("demo"), tmp_path)
    rows = [line.split() for line in (folder / "bw_calc.dat").read_text().splitlines()[1:]]
    by_size = {int(row[0]): row[1:] for row in rows}
    assert by_size.keys() == set(range(1, 2049))
    # Equations (1) to (3) for 64 B on Gen3 x8: 57.88 Gb/s of TLPs, 24 B around a write, 20 B around a completion.
    assert float(by_size[64][0]) == pytest.approx(57.88 * 64 / 88, abs=0.01)
    assert float(by_size[64][2]) == pytest.approx(57.88 * 64 / 84, abs=0.01)
    assert "the published card's" in (folder / "ORIGIN.txt").read_text()
