"""The kPIO+WC paper's numbers and a run of the suite kpio: each is met, or has a reason."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from generate.paper_pages import PAGES, messages_page
from pcielab import open_store, run as run_work
from pcielab.kinds.beside_published import compare_with_published, deviations
from pcielab.kinds.published import published_values
from pcielab.report import write_report
from shell import refuse, succeed


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kpio") / "messages.db"
    run_work("kpio", profile="kpio-2012", output=path)
    return path


@pytest.fixture(scope="module")
def compared(run: Path) -> pd.DataFrame:
    table = compare_with_published(open_store(run))
    assert table is not None
    return table


def test_every_number_is_met_or_has_a_reason(compared: pd.DataFrame) -> None:
    assert compared[compared["verdict"].isin(["off", "not run"])]["what"].tolist() == []
    known = published_values("kpio")
    assert known is not None
    reasoned = np.array([one.why is not None for one in known.value])
    assert compared["what"][reasoned & (compared["verdict"] == "within")].tolist() == []


def test_the_page_of_the_paper_is_current(compared: pd.DataFrame) -> None:
    written = (PAGES / "kpio-paper.md").read_text(encoding="utf-8")
    assert written == messages_page(compared), "run make paper-numbers"


def test_the_traces_are_met_packet_by_packet(compared: pd.DataFrame) -> None:
    traces = compared[compared["source"].str.contains("figure [56]") & (compared["unit"] == "ns")]
    assert len(traces) == 13
    assert set(traces["verdict"]) == {"within", "input"}
    assert traces["simulated"].notna().all()
    assert traces["error"].abs().max() < 5


def test_the_command_shows_them(run: Path) -> None:
    rows = json.loads(succeed("paper", "numbers", run, "--format", "json").stdout)
    assert {row["verdict"] for row in rows} == {"within", "explained", "input", "not simulated"}
    table = succeed("paper", "numbers", run).stdout
    assert "do not converge" in table


def test_a_suite_without_published_numbers_is_refused(tmp_path: Path) -> None:
    succeed("run", "--test", "bw-rd", "--size", "64", "-o", tmp_path / "one.db")
    assert "pcielab run --suite kpio" in refuse("paper", "numbers", tmp_path / "one.db")


def test_eight_cores_are_almost_eight_times_as_fast_as_one(run: Path) -> None:
    rows = open_store(run).scalars
    cores = rows[(rows["family"] == "message_cores") & (rows["generation"] == 5) & (rows["size_bytes"] == 64)]
    own = cores[(cores["sharing"] == "own-queues")].pivot(index="cores", columns="way", values="bandwidth")
    assert (own.loc[8] / own.loc[1]).between(6.5, 8.1).all()


def test_a_report_of_messages_has_no_figures_of_other_machines(run: Path, tmp_path: Path) -> None:
    write_report([open_store(run)], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="message-published"' in page
    for other in ("fig1-interactions", "fig4-bandwidth-by-size", "fig2-loopback", "fabric-"):
        assert f'id="{other}' not in page, other


def test_missed_numbers_of_a_figure_are_listed_with_the_reason(run: Path) -> None:
    said = deviations(open_store(run), "message_bandwidth_sizes")
    assert len(said) == 1
    assert said[0].startswith("1 of 4 published numbers missed, 29.")
    assert "the paper's own 108 ns" in said[0]
