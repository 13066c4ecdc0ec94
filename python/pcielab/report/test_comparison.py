"""Comparison: pairing of tests, sign and unit of differences, and a page without network."""

import re
from pathlib import Path

import pytest

from pcielab import InputError, Store, open_store
from pcielab.analysis.compare import compare
from pcielab.formats.importers import import_pcie_bench
from pcielab.report.comparison import draw, families, runs_of_comparison


def imported(directory: Path, output: Path, *changes: tuple[str, str, str]) -> Store:
    for name, old, new in changes:
        text = (directory / name).read_bytes().decode()
        assert old in text
        (directory / name).write_bytes(text.replace(old, new, 1).encode())
    import_pcie_bench(directory, output)
    return open_store(output)


FASTER = ("bw_dma_sz_sweep.csv", "8.519356156310172,", "8.55,")
# The second of two rows with the same key.
SLOWER = (
    "lat_cmd_details.csv",
    "0,4\r\nLAT_CMD_RD,Rand,HWarm,0,0,8192,8,736,560.0,560.0,544,576,576.0,576.0,613.3333333333334,"
    "466.6666666666667,466.6666666666667,",
    "0,4\r\nLAT_CMD_RD,Rand,HWarm,0,0,8192,8,736,560.0,576.0,544,576,576.0,576.0,613.3333333333334,"
    "466.6666666666667,480.0,",
)


def test_subtracts_a_from_b_and_pairs_duplicates_in_order(published: Path, tmp_path: Path) -> None:
    a = imported(published, tmp_path / "a.db")
    comparison = compare(a, imported(published, tmp_path / "b.db", FASTER, SLOWER))
    assert comparison.rows["median_difference_ns"].tolist()[:3] == [0.0, 0.0, pytest.approx(40 / 3)]
    assert comparison.rows["bandwidth_difference_percent"].tolist()[3:] == [
        pytest.approx(100 * (8.55 / 8.519356156310172 - 1)),
        0.0,
        0.0,
    ]
    assert (comparison.alone_a, comparison.alone_b) == (0, 0)
    assert comparison.rows["origin_b"].unique().tolist() == ["measured"]
    summary = comparison.summary.set_index(["name", "metric"])
    assert summary.loc[("LAT_CMD_RD", "median"), "mean"] == pytest.approx(40 / 9)
    assert summary.loc[("BW_DMA_RD", "bandwidth"), "rows"] == 2


def test_pairs_other_families_by_parameters(published: Path, tmp_path: Path) -> None:
    a = imported(published, tmp_path / "a.db")
    (published / "bw_dma_sz_sweep.csv").rename(published / "bw_mine.csv")
    (published / "lat_cmd_details.csv").unlink()
    comparison = compare(a, imported(published, tmp_path / "b.db"))
    assert comparison.rows["name"].tolist() == ["BW_DMA_RD", "BW_DMA_RD", "BW_DMA_RW"]
    assert (comparison.alone_a, comparison.alone_b) == (3, 0)


def test_runs_without_a_common_test_are_refused(published: Path, tmp_path: Path) -> None:
    a = imported(published, tmp_path / "a.db")
    (published / "lat_cmd_details.csv").unlink()
    (published / "bw_dma_sz_sweep.csv").write_text(
        (published / "bw_dma_sz_sweep.csv").read_text().replace(",8192,", ",4096,").replace("1572864.0", "2048")
    )
    with pytest.raises(InputError, match="no finished test in common"):
        compare(a, imported(published, tmp_path / "b.db"))


def test_page_needs_no_network_and_shows_both_origins(published: Path, tmp_path: Path) -> None:
    a = imported(published, tmp_path / "a.db")
    page = draw(compare(a, imported(published, tmp_path / "b.db")))
    assert 'src="http' not in page
    heads = re.findall(r"<h3>(.*?) <span", page)
    assert heads == ["A: a", "B: b"]
    assert page.count('<span class="badge measured">MEASURED</span>') >= 3
    assert page.count("data-figure=") >= 2


def test_the_page_opens_with_what_differs_most_and_folds_the_families(published: Path, tmp_path: Path) -> None:
    a = imported(published, tmp_path / "a.db")
    page = draw(compare(a, imported(published, tmp_path / "b.db", FASTER, SLOWER)))
    sections = re.findall(r'<section id="(\w+)">', page)
    assert sections == ["worst", "summary", "families", "runs"]
    rows = re.findall(r"<tr><td><a .*?>(.*?)</a></td><td><strong>(.*?)</strong></td>", page)
    # The median that changed by a tick is not resolvable from the samples of two measurements.
    assert rows == [("DMA read bandwidth, 16 B, window 8 KiB, host-warm", "+0.4 %")]
    folded = re.findall(r'<details class="folded" id="family-\d"><summary>(.*?) <small>', page)
    assert len(folded) == 2
    assert not [text for text in ("lat_cmd_details", "LAT_CMD_RD") if text in "".join(folded)]


def test_a_page_of_equal_runs_has_no_largest_differences(published: Path, tmp_path: Path) -> None:
    a = imported(published, tmp_path / "a.db")
    page = draw(compare(a, imported(published, tmp_path / "b.db")))
    assert 'id="worst"' not in page
    assert page.count("no difference") == 2


def test_panels_of_a_family_show_the_differences_below_the_values(published: Path, tmp_path: Path) -> None:
    a = imported(published, tmp_path / "a.db")
    found = compare(a, imported(published, tmp_path / "b.db", FASTER, SLOWER))
    drawn = {
        family.name: family.figure.to_dict(validate=False)
        for family in families(found, *runs_of_comparison(found))
    }
    bandwidth = drawn["bw_dma_sz_sweep"]
    assert len(bandwidth["vconcat"]) == 2
    apart = [row for rows in bandwidth["datasets"].values() for row in rows if "residual" in row]
    assert max(row["residual"] for row in apart) == pytest.approx(100 * (8.55 / 8.519356156310172 - 1), rel=1e-5)
    assert {row["run"] for row in apart} == {"B: b · MEASURED"}
