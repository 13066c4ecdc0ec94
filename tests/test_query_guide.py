"""The SQL of the guide on queries runs in DuckDB on exports of small runs, and finds what the stores hold."""

import os
from pathlib import Path
from typing import Any

import pytest

from documents.blocks import ROOT, blocks, commands
from pcielab import open_store
from shell import succeed

GUIDE = ROOT / "docs" / "guides" / "query-stores.md"
SMALL = Path(__file__).parent / "documents" / "small" / "quick.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("queries")
    for name, sets in (("a", []), ("b", ["--set", "link.tags=8"])):
        succeed("run", "--suite", SMALL, *sets, "-o", folder / f"{name}.db")
        succeed("export", "parquet", folder / f"{name}.db", "-o", folder / f"{name}.parquet")
    return folder


def queries() -> list[str]:
    """The texts of `duckdb -c` in the guide."""
    lines = [command for block in blocks(GUIDE) if block.language == "sh" for command in commands(block)]
    return [command.words[2] for command in lines if command.words[:2] == ["duckdb", "-c"]]


def test_the_guides_queries_run_in_duckdb(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    monkeypatch.chdir(folder)
    fastest, joined, every = (duckdb.sql(query).fetchall() for query in queries())
    rows = open_store("a.db").frame
    assert fastest[0][3] == round(float(rows["bandwidth_gbps"].max()), 1)
    assert {row[4] for row in fastest} == {"simulated"}
    assert (joined[0][0], joined[0][1]) == ("BW_DMA_RD", 64)
    assert joined[0][2] < -10
    assert [os.path.basename(row[0]) for row in every] == ["a.parquet", "b.parquet"]  # noqa: PTH119
    assert {row[2] for row in every} == {len(rows)}


def test_the_guide_has_the_three_queries_that_are_tested() -> None:
    assert len(queries()) == 3
