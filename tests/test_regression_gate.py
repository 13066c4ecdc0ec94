"""`pcielab compare A B --fail-above N%` fails if a row changed beyond the limit or is missing."""

import json
from pathlib import Path

import pytest

from pcielab import InputError
from pcielab.analysis.compare import Failure, parse_limit
from shell import pcielab, refuse, succeed
from suite_texts import suite_text, transfers


def suite(*sizes: int) -> str:
    return suite_text(
        *(
            transfers(family, test, *sizes, caches=["host-warm"], transactions=3000)
            for family, test in (("bw_dma_sz_sweep", "BW_DMA_RD"), ("lat_dma_sizes", "LAT_DMA_RD"))
        )
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline, a run that is slower, and one that lacks tests."""
    made = tmp_path_factory.mktemp("gate")
    (made / "small.toml").write_text(suite(64, 512), encoding="utf-8")
    (made / "fewer.toml").write_text(suite(64), encoding="utf-8")
    for name, tests, sets in (
        ("baseline", "small", []),
        ("same", "small", []),
        ("slower", "small", ["--set", "host.root_complex.read_ns=330"]),
        ("faster", "small", ["--set", "host.root_complex.read_ns=300"]),
        ("fewer", "fewer", []),
    ):
        succeed("run", "--profile", "snb", *sets, "--suite", made / f"{tests}.toml", "-o", made / f"{name}.db")
    return made


def test_equal_runs_pass_any_limit(folder: Path) -> None:
    done = pcielab("compare", folder / "baseline.db", folder / "same.db", "--fail-above", "0%")
    assert (done.exit_code, "no difference above 0 % in 4 pairs" in done.stderr) == (0, True)


@pytest.mark.parametrize("output_format", ["table", "csv", "json"])
@pytest.mark.parametrize("changed", ["slower", "faster"])
def test_a_change_above_the_limit_fails_and_is_named(folder: Path, changed: str, output_format: str) -> None:
    command = ("compare", folder / "baseline.db", folder / f"{changed}.db", "--format", output_format)
    shown = pcielab(*command).stdout
    failed = pcielab(*command, "--fail-above", "2%")
    assert (failed.exit_code, failed.stdout) == (1, shown)
    assert "of 4 pairs differ by more than 2 %" in failed.stderr
    assert "LAT_DMA_RD, size 64, window 8192, offsets 0/0, cache host-warm: median 560 to" in failed.stderr
    assert "BW_DMA_RD" not in failed.stderr
    passed = pcielab(*command, "--fail-above", "5%")
    assert (passed.exit_code, passed.stdout) == (0, shown)


def test_only_losses_fail_if_asked(folder: Path) -> None:
    def gate(first: str, second: str) -> tuple[int, str]:
        command = (
            "compare",
            folder / f"{first}.db",
            folder / f"{second}.db",
            "--fail-above",
            "2%",
            "--worse-only",
        )
        done = pcielab(*command)
        return done.exit_code, done.stderr

    assert gate("baseline", "faster") == (0, "no loss above 2 % in 4 pairs\n")
    for first, second in (("baseline", "slower"), ("faster", "baseline")):
        code, said = gate(first, second)
        assert (code, "of 4 pairs are worse by more than 2 %" in said) == (1, True)
    assert gate("baseline", "fewer")[0] == 1, "a missing test is a loss"
    refused = refuse("compare", folder / "baseline.db", folder / "faster.db", "--worse-only")
    assert "--worse-only: tells what fails: give --fail-above N% as well" in refused


@pytest.mark.parametrize(
    ("metric", "a", "b", "is_gain"),
    [
        ("bandwidth", 10.0, 11.0, True),
        ("bandwidth", 10.0, 9.0, False),
        ("median", 500.0, 400.0, True),
        ("average", 500.0, 600.0, False),
        ("average", 500.0, None, False),
    ],
)
def test_what_is_a_gain_depends_on_the_metric(metric: str, a: float, b: float | None, is_gain: bool) -> None:
    assert Failure({}, metric, "", a, b, 10.0).is_gain is is_gain


def test_the_worst_row_is_named_first(folder: Path) -> None:
    failed = pcielab("compare", folder / "baseline.db", folder / "slower.db", "--fail-above", "0.1%")
    percents = [
        abs(float(line.rsplit("(", 1)[1].split()[0])) for line in failed.stderr.splitlines() if line.endswith("%)")
    ]
    assert len(percents) == 4
    assert percents == sorted(percents, reverse=True)


def test_a_missing_test_fails_at_any_limit(folder: Path) -> None:
    failed = pcielab("compare", folder / "baseline.db", folder / "fewer.db", "--fail-above", "100%")
    assert failed.exit_code == 1
    assert "B lacks 2 of A's tests" in failed.stderr
    for name in ("BW_DMA_RD", "LAT_DMA_RD"):
        assert f"{name}, size 512, window 8192, offsets 0/0, cache host-warm: missing in B" in failed.stderr
    more = pcielab("compare", folder / "fewer.db", folder / "baseline.db", "--fail-above", "1%")
    assert (more.exit_code, "2 of B" in more.stderr) == (0, True)


def test_the_gate_works_without_rows_on_stdout(folder: Path) -> None:
    page = folder / "both.html"
    failed = pcielab(
        "compare", folder / "baseline.db", folder / "slower.db", "--fail-above", "2%", "-o", page, "--overwrite"
    )
    assert (failed.exit_code, page.exists()) == (1, True)
    summary = pcielab(
        *("compare", folder / "baseline.db", folder / "slower.db", "--summary"),
        *("--format", "json", "--fail-above", "2%"),
    )
    assert (summary.exit_code, bool(json.loads(summary.stdout))) == (1, True)


def test_the_gate_compares_flows_too(tmp_path: Path) -> None:
    flows = tmp_path / "flows.csv"
    for name, size in (("a", 4096), ("b", 8192)):
        flows.write_text(
            f"name,source,destination,primitive,size_bytes\nF1,host1,A,h2d,{size}\n", encoding="utf-8"
        )
        succeed("fabric", "run", "fabrex-u55c", "--flows", flows, "-o", tmp_path / f"{name}.db")
    assert pcielab("compare", tmp_path / "a.db", tmp_path / "a.db", "--fail-above", "0%").exit_code == 0
    failed = pcielab("compare", tmp_path / "a.db", tmp_path / "b.db", "--fail-above", "2%")
    assert failed.exit_code == 1
    assert "flow F1" in failed.stderr


@pytest.mark.parametrize("text", ["0.02", "2", "-2%", "two%", "", "2%%", "1e3%", "nan%"])
def test_other_notations_are_refused_with_the_remedy(folder: Path, text: str) -> None:
    with pytest.raises(InputError, match="give a number from 0 and a percent sign, like 2% or"):
        parse_limit(text, "--fail-above")
    refuse("compare", folder / "baseline.db", folder / "same.db", f"--fail-above={text}")


def test_percentages_are_parsed() -> None:
    assert [parse_limit(text, "--fail-above") for text in ("2%", "0.5 %", " 10% ", "0%")] == [2, 0.5, 10, 0]
