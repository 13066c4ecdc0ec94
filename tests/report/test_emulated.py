"""A run on emulated devices is shown as a list of exercised tests, without times."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pcielab.cli.commands import app
from pcielab.errors import InputError
from pcielab.report import figures
from pcielab.report.figures import MissingDataError
from pcielab.store import Store

from .conftest import MakeStore
from .test_page import body_of, page_of

NOTICE = "EMULATED: what was exercised, not how fast"
SPEED = re.compile(r"gbps|Gb/s|_ns\b|median|per_second|slack|difference")


@pytest.fixture
def emulated(make_store: MakeStore) -> Store:
    return make_store("emulated", origin="emulated")


def printed(*arguments: object) -> str:
    ran = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_a_report_lists_exercised_tests_and_draws_no_figure(tmp_path: Path, emulated: Store) -> None:
    body = body_of(page_of(tmp_path, emulated))
    assert NOTICE in body
    assert "EMULATED" in body
    assert 'id="exercised"' in body
    assert "<figure" not in body
    assert 'id="summary"' not in body
    heads = re.findall(r"<th scope=\"col\">(.*?)</th>", body)
    assert heads
    assert not [head for head in heads if SPEED.search(head) or "(ns)" in head]


def test_beside_another_run_only_the_other_is_drawn(
    tmp_path: Path, emulated: Store, make_store: MakeStore
) -> None:
    body = body_of(page_of(tmp_path, make_store("rtl", origin="rtl"), emulated))
    assert "<figure" in body
    assert "RTL SIMULATION" in body
    assert NOTICE in body
    drawn = figures.bandwidth_by_size([make_store("a", origin="rtl"), emulated]).to_dict()
    assert "EMULATED" not in json.dumps(drawn)
    overlaid = figures.bandwidth_by_size(make_store("b"), measured=emulated).to_dict()
    assert "EMULATED" not in json.dumps(overlaid)


def test_figures_of_an_emulated_run_are_refused(emulated: Store) -> None:
    with pytest.raises(MissingDataError, match="those of an emulator have none"):
        figures.latency_by_size(emulated)


@pytest.mark.parametrize("output_format", ["table", "csv", "json"])
def test_explain_and_compare_list_tests_without_times(emulated: Store, output_format: str) -> None:
    for command in (("explain", emulated.path), ("compare", emulated.path, emulated.path)):
        listed = printed(*command, "--format", output_format)
        assert "64" in listed
        assert not SPEED.search(listed), listed
        if output_format == "table":
            assert NOTICE in listed


def test_a_comparison_page_has_no_figure(tmp_path: Path, emulated: Store, make_store: MakeStore) -> None:
    printed("compare", make_store("a").path, emulated.path, "-o", tmp_path / "page.html")
    body = body_of((tmp_path / "page.html").read_text())
    assert NOTICE in body
    assert "<figure" not in body
    assert "finished in both" in body


def test_exported_rows_carry_the_origin_and_the_export_warns(tmp_path: Path, emulated: Store) -> None:
    ran = CliRunner().invoke(app, ["export", "csv", str(emulated.path), "-o", str(tmp_path / "rows.csv")])
    assert ran.exit_code == 0
    assert NOTICE in ran.stderr
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert all(line.startswith("emulated,") for line in lines[1:])


def test_commands_that_need_times_refuse_an_emulated_run(emulated: Store) -> None:
    with pytest.raises(InputError, match=f"{NOTICE}: calibrating needs a run of real or simulated times"):
        emulated.require_speed("calibrating")
    path, twin = str(emulated.path), str(emulated.path.with_name("twin.toml"))
    for command in (["calibrate", path, "-o", twin], ["validate", "snb", path], ["findings", path]):
        ran = CliRunner().invoke(app, command)
        assert isinstance(ran.exception, InputError), ran.output
        assert NOTICE in str(ran.exception)
