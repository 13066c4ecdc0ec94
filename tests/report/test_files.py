"""Files that a report writes: the page and its figures."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pcielab.cli.commands import app
from pcielab.errors import InputError
from pcielab.report import figures, save_figure, write_report

from .conftest import MakeStore, small_paper_suite

FEW = [test for test in small_paper_suite() if test["family"] == "bw_dma_sz_sweep"]
"""Tests that make figures 1 and 4."""


def test_the_command_writes_the_page_and_the_figures(tmp_path: Path, make_store: MakeStore) -> None:
    make_store("a")
    output, folder = tmp_path / "report.html", tmp_path / "figures"
    arguments = ["report", str(tmp_path / "a.db"), "-o", str(output), "--figures", str(folder)]
    result = CliRunner().invoke(app, [*arguments, "--figure-format", "svg"], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert output.read_text(encoding="utf-8").startswith("<!doctype html>")
    names = {path.name for path in folder.iterdir()}
    assert {"fig1-interactions.svg", "fig4-bandwidth-by-size.svg", "fig6-cdf-dma-64.svg"} <= names
    assert "SIMULATED" in (folder / "fig5-latency-by-size.svg").read_text(encoding="utf-8")


def test_without_an_output_the_page_is_beside_the_store(tmp_path: Path, make_store: MakeStore) -> None:
    make_store("a", FEW)
    result = CliRunner().invoke(app, ["report", str(tmp_path / "a.db")], catch_exceptions=False)
    assert (tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert f"wrote {tmp_path / 'a.html'}" in result.stderr
    with pytest.raises(InputError, match=r"a\.html: exists already"):
        CliRunner().invoke(app, ["report", str(tmp_path / "a.db")], catch_exceptions=False)


@pytest.mark.parametrize("ending", ["pdf", "PDF", "png", "svg"])
def test_a_page_is_no_picture(tmp_path: Path, make_store: MakeStore, ending: str) -> None:
    path = tmp_path / f"r.{ending}"
    with pytest.raises(InputError, match=r"is no format of a page: give .*r\.html, and print it"):
        write_report([make_store("a")], path)
    assert not path.exists()


def test_an_unknown_ending_is_refused_with_the_remedy(tmp_path: Path, make_store: MakeStore) -> None:
    with pytest.raises(InputError, match=r"r\.txt: \.txt is no format of a page: give .*r\.html$"):
        write_report([make_store("a")], tmp_path / "r.txt")
    assert not (tmp_path / "r.txt").exists()


def test_an_output_that_exists_is_kept(tmp_path: Path, make_store: MakeStore) -> None:
    output = tmp_path / "report.html"
    output.write_text("mine")
    with pytest.raises(InputError, match=r"exists already.*--overwrite"):
        write_report([make_store("a", FEW)], output)
    assert output.read_text() == "mine"
    write_report([make_store("b", FEW)], output, overwrite=True)
    assert output.read_text(encoding="utf-8").startswith("<!doctype")


def test_an_output_that_cannot_be_written_is_refused(tmp_path: Path, make_store: MakeStore) -> None:
    store = make_store("a")
    with pytest.raises(InputError, match="there is no such folder"):
        write_report([store], tmp_path / "missing" / "report.html")
    with pytest.raises(InputError, match="is a folder"):
        write_report([store], tmp_path)


def test_an_existing_figure_is_refused_before_the_page_is_written(tmp_path: Path, make_store: MakeStore) -> None:
    folder = tmp_path / "figures"
    folder.mkdir()
    (folder / "fig4-bandwidth-by-size.svg").write_text("mine")
    with pytest.raises(InputError, match=r"fig4-bandwidth-by-size\.svg: exists already"):
        write_report([make_store("a", FEW)], tmp_path / "report.html", figures=folder)
    assert not (tmp_path / "report.html").exists()
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize(
    "ending, head", [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF"), ("html", b"<!doctype html>")]
)
def test_a_figure_is_saved_in_each_format(tmp_path: Path, make_store: MakeStore, ending: str, head: bytes) -> None:
    path = tmp_path / f"figure.{ending}"
    save_figure(figures.bandwidth_by_size(make_store("a", FEW)), path)
    assert path.read_bytes().lstrip().startswith(head)


def test_another_ending_is_refused(tmp_path: Path, make_store: MakeStore) -> None:
    with pytest.raises(InputError, match=r"'\.gif' is no figure format"):
        save_figure(figures.bandwidth_by_size(make_store("a", FEW)), tmp_path / "figure.gif")
