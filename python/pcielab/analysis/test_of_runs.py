"""Questions about runs, which name a run by its store or its path."""

from pathlib import Path

import pytest

import pcielab


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs of one test, on 32 and on 8 tags."""
    folder = tmp_path_factory.mktemp("runs")
    test = pcielab.single_test("bw-rd", size=64)
    for tags, name in ((32, "a.db"), (8, "b.db")):
        pcielab.run(test, profile="hsw2620", sets=[f"link.tags={tags}"], output=folder / name)
    return folder / "a.db", folder / "b.db"


def test_explains_a_path_as_its_store(stores: tuple[Path, Path]) -> None:
    [row] = pcielab.explain(stores[1]).rows
    assert row.answer.bound == "tags"
    assert pcielab.explain(pcielab.open_store(stores[1]), ["BW_DMA_RD"]).rows == [row]


def test_compares_two_paths(stores: tuple[Path, Path]) -> None:
    comparison = pcielab.compare(str(stores[0]), stores[1])
    assert [str(one) for one in comparison.system_differences] == ["link.tags 32 -> 8"]
    assert comparison.rows["bandwidth_difference_percent"][0] < -20


def test_a_path_without_rows_is_refused(tmp_path: Path, stores: tuple[Path, Path]) -> None:
    for ask in (
        pcielab.explain,
        lambda path: pcielab.validate("snb", path),
        lambda path: pcielab.calibrate(path, "x"),
    ):
        with pytest.raises(pcielab.InputError, match=r"missing\.db"):
            ask(tmp_path / "missing.db")
    with pytest.raises(pcielab.InputError, match="in_none"):
        pcielab.explain(stores[0], ["in_none"])
