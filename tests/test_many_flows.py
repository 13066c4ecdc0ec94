"""The influences of many flows are neither kept nor estimated to the end once Ctrl-C comes.

A thousand flows have a million: memory is tested as the number of changes that are alive at once.
"""

import json
import os
import signal
import subprocess
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pcielab import InputError, fabric, open_store
from pcielab.analysis.why.flows import influenced
from pcielab.cli import fabric as commands, output
from pcielab.cli.output import Cell
from pcielab.fabric import Influence, estimation, simulation
from pcielab.fabric.estimation import free_shares
from pcielab.library.fabrics.load import recorded
from shell import PCIELAB, ended, refuse, started, stop_after, succeed

_ENDS = ("host1", "host2", "A", "B", "C", "D")
_LONG_RUN = 24_001
"""Flows of a run whose description is longer than the compiled half reads of others."""
_MOST_BYTES_PER_FLOW = 5_000
"""Of a run: table, texts and numbers. With Python objects for each flow, and copies of texts, it is 5,700."""
_PATHS = [(source, destination) for source in _ENDS for destination in _ENDS if source != destination]


def flows_file(folder: Path, count: int) -> Path:
    """A file of that many flows between the ends of the testbed."""
    path = folder / "flows.csv"
    rows = (f"F{number},{','.join(_PATHS[number % len(_PATHS)])}" for number in range(count))
    path.write_text("\n".join(["name,source,destination", *rows]), encoding="utf-8")
    return path


class _Counted:
    """Influences of every flow by each, and how many of their changes were alive at once."""

    def __init__(self, flows: int) -> None:
        self.flows, self.most_alive = flows, 0
        self._alive: weakref.WeakSet[Influence] = weakref.WeakSet()

    def __call__(self, *_arguments: Any, **_options: Any) -> Iterator[Influence]:
        numbers, shares = np.arange(self.flows, dtype=np.uint32), np.ones(self.flows)
        for stopped in range(self.flows):
            one = Influence("stop", f"F{stopped}", numbers, shares, 2 * shares)
            self._alive.add(one)
            self.most_alive = max(self.most_alive, len(self._alive))
            yield one


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> _Counted:
    found = _Counted(300)
    monkeypatch.setattr(estimation, "influence_of_each", found)
    return found


def _named(count: int) -> pd.DataFrame:
    return pd.DataFrame({"name": [f"F{number}" for number in range(count)]})


def test_why_keeps_the_totals_of_each_change_alone(counted: _Counted) -> None:
    changes = influenced(fabric.load("fabrex-u55c"), _named(counted.flows))
    assert [change.gain_percent for change in changes] == [100.0] * counted.flows
    assert changes[0].what == "stopping F0, which affects F0, F1, F2 and 297 more"
    assert counted.most_alive <= 2


def test_explain_keeps_the_changes_that_its_table_shows(counted: _Counted) -> None:
    first, count = commands._first_changes(counted(), _named(counted.flows))
    assert (len(first), count) == (commands._SHOWN_CHANGES, counted.flows**2)
    assert counted.most_alive <= 3


def test_explain_keeps_one_block_of_all_changes(counted: _Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_BLOCK_ROWS", 4 * counted.flows)
    blocks = commands._blocks(counted(), _named(counted.flows))
    assert {len(block) for block in blocks} == {4 * counted.flows}
    assert counted.most_alive <= 6


@pytest.mark.parametrize("output_format", ["csv", "json"])
def test_blocks_print_what_the_whole_table_prints(
    output_format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = flows_file(tmp_path, 30)
    whole = succeed("fabric", "explain", "fabrex-u55c", "--flows", file, "--format", output_format).stdout
    testbed = fabric.load("fabrex-u55c")
    flows = fabric.with_limits(testbed, testbed.flows(str(file)))
    every = fabric.influences(testbed, flows)
    monkeypatch.setattr(commands, "_BLOCK_ROWS", 7)
    blocks = list(commands._blocks(fabric.influence_of_each(testbed, flows), flows))
    assert len(blocks) > 5
    pd.testing.assert_frame_equal(pd.concat(blocks, ignore_index=True), every)
    if output_format == "json":
        commands.print_blocks(blocks, commands.Format.JSON)
        assert capsys.readouterr().out == whole
        assert len(json.loads(whole)) == len(every)
    else:
        assert len(whole.splitlines()) == 1 + len(every)


def test_one_flow_alone_has_no_changes(tmp_path: Path) -> None:
    file = tmp_path / "one.csv"
    file.write_text("name,source,destination,standalone_gbytes_per_s\nF,host1,A,0.1\n", encoding="utf-8")
    asked = ("fabric", "explain", "fabrex-u55c", "--flows", file)
    assert json.loads(succeed(*asked, "--format", "json").stdout) == []
    assert succeed(*asked, "--format", "csv").stdout == "change,what,flow,gbytes_per_s,then_gbytes_per_s\n"


@pytest.mark.parametrize("command", [("fabric", "explain"), ("why",)])
def test_many_flows_need_a_limit_are_announced_and_stopped(command: tuple[str, ...], tmp_path: Path) -> None:
    # To its end, each would take minutes.
    file = flows_file(tmp_path, 20_000)
    refused = refuse(*command, "fabrex-u55c", "--flows", file)
    wanted = (
        "--limit is 100000000: 20008 changes of 20000 flows need 400160000 shares: give 400160000, or fewer flows"
    )
    assert wanted in refused
    options = ("--flows", file, "--limit", "400160000")
    done = stop_after(3, signal.SIGINT, *command, "fabrex-u55c", *options)
    assert (done.exit_code, done.stdout) == (130, "")
    assert "changes are estimated, one at a time: Ctrl-C stops it" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of flows with long names, one of which has a demand: 9 MB of JSON."""
    folder = tmp_path_factory.mktemp("long")
    rows = (f"{number:0200d},host1,A,{0 if number else 1}" for number in range(_LONG_RUN))
    (folder / "flows.csv").write_text("\n".join(["name,source,destination,standalone_gbytes_per_s", *rows]))
    how = ("--duration-us", "5", "--warm-up-us", "0", "--format", "csv", "-o", folder / "run.db")
    done = succeed("fabric", "run", "fabrex-u55c", "--flows", folder / "flows.csv", *how)
    assert done.stderr.strip() == f"{_LONG_RUN} flows are simulated: Ctrl-C stops it"
    return folder / "run.db"


def test_a_run_keeps_more_flows_than_a_description_has_room_for(long_run: Path) -> None:
    table = fabric.flow_table(open_store(long_run))
    assert len(table) == _LONG_RUN
    assert table["gbytes_per_s"].gt(0).sum() == 1


def test_a_set_of_too_many_flows_is_refused_before_it_is_simulated(tmp_path: Path) -> None:
    refused = refuse(
        "fabric", "run", "fabrex-u55c", "--flows", flows_file(tmp_path, 100_001), "-o", tmp_path / "r"
    )
    assert "flows is 100001: give 100000 at most to keep, or simulate them without a store" in refused
    assert [path.name for path in tmp_path.iterdir()] == ["flows.csv"]


def _peak_bytes(folder: Path, flows: int) -> int:
    """The most memory that a run of that many flows takes."""
    file = flows_file(folder, flows)
    how = ("--duration-us", "5", "--warm-up-us", "0", "--format", "csv", "--overwrite", "-o", folder / "run.db")
    process = subprocess.Popen(
        [PCIELAB, "fabric", "run", "fabrex-u55c", "--flows", file, *how],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_maxrss * 1024


@pytest.mark.long("fewer flows do not show in the memory of a process beside the modules that it loads")
def test_each_flow_of_a_run_takes_few_bytes(tmp_path: Path) -> None:
    few, many = 1_000, 40_000
    grown = _peak_bytes(tmp_path, many) - _peak_bytes(tmp_path, few)
    assert grown / (many - few) < _MOST_BYTES_PER_FLOW


def _announced_and_stopped(*arguments: str | Path) -> None:
    """Interrupt a command once it has said what takes long."""
    process = started(*arguments)
    assert process.stderr is not None
    said = process.stderr.readline()
    assert said == f"{_LONG_RUN} changes are estimated, one at a time: Ctrl-C stops it\n"
    process.send_signal(signal.SIGINT)
    done = ended(process)
    assert (done.exit_code, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr


def test_flows_without_a_demand_are_no_reason(tmp_path: Path) -> None:
    file, store = tmp_path / "idle.csv", tmp_path / "run.db"
    rows = [f"F{number},host1,A,{number}" for number in range(3)]
    for some, end in ((rows, "own-demand binds 2 of 2"), (rows[:1], "no flow asks for anything")):
        file.write_text("\n".join(["name,source,destination,standalone_gbytes_per_s", *some]))
        how = ("--duration-us", "20", "--warm-up-us", "0", "--overwrite", "-o", store)
        succeed("fabric", "run", "fabrex-u55c", "--flows", file, *how)
        answer = succeed("why", store).stdout if len(some) > 1 else refuse("why", store)
        assert end in " ".join(answer.split())


def test_the_limits_of_many_stored_flows_are_announced_and_stopped(long_run: Path) -> None:
    _announced_and_stopped("explain", long_run)


def test_many_stored_flows_need_a_limit_before_they_are_explained(long_run: Path) -> None:
    shares = _LONG_RUN**2
    refused = refuse("why", long_run)
    wanted = f"--limit is 100000000: {_LONG_RUN} flows need {shares} shares: give {shares}, or fewer tests"
    assert wanted in refused
    _announced_and_stopped("why", long_run, "--limit", str(shares))


def test_the_limit_of_a_stored_flow_is_its_share_among_the_others(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    succeed("fabric", "run", "fabrex-u55c", "--flows", "table2", "-o", store)
    run = fabric.flow_table(open_store(store))
    recorded_fabric = recorded(open_store(store).manifest, "run")
    asked = run.assign(name=run["flow"], standalone_gbytes_per_s=run["gbytes_per_s"])
    found = [*free_shares(recorded_fabric, asked)]
    for number, (share, edge) in enumerate(found):
        alone = asked["standalone_gbytes_per_s"].copy()
        alone.iloc[number] = float("nan")
        row = fabric.estimate(recorded_fabric, asked.assign(standalone_gbytes_per_s=alone)).flows.iloc[number]
        assert (share, edge) == (row["gbytes_per_s"], row["limit"])
    assert len({share for share, _ in found}) > 1


def test_requests_become_frames_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bytes] = []
    requests_of = simulation.requests_of
    monkeypatch.setattr(simulation, "requests_of", lambda times: made.append(times) or requests_of(times))
    testbed = fabric.load("fabrex-u55c")
    flows = testbed.flows("latency")
    found = fabric.simulate(testbed, flows, warm_up_us=0.0, duration_us=5.0)
    assert made == []
    assert [*found.requests] == [*flows["name"]]
    # Each has the numbers of its frame, of which some are missing.
    for row in found.flows.to_dict("records"):
        requests = found.requests[row["flow"]]
        assert row["requests"] == len(requests)
        reached = (requests["reached"] - requests["submitted"]).mean()
        numbers = [row["average_ns"], row["device_ns"], row["reached_ns"]]
        np.testing.assert_array_equal(numbers, [requests["total"].mean(), requests["device"].mean(), reached])
    assert len(made) == len(flows)


def test_a_simulation_of_many_flows_is_announced(tmp_path: Path) -> None:
    how = ("--duration-us", "1", "--warm-up-us", "0", "--format", "csv")
    for count, said in ((2_001, "2001 flows are simulated: Ctrl-C stops it"), (30, "")):
        done = succeed("fabric", "simulate", "fabrex-u55c", "--flows", flows_file(tmp_path, count), *how)
        assert done.stderr.strip() == said
        assert len(done.stdout.splitlines()) == 1 + count


def test_a_long_table_is_announced(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_MANY_CELLS", 6)
    rows: list[dict[str, Cell]] = [{"flow": f"F{number}", "gbytes_per_s": number} for number in range(4)]
    output.print_rows(rows[:3], output.Format.TABLE)
    assert capsys.readouterr().err == ""
    for form in (output.Format.CSV, output.Format.JSON):
        output.print_rows(rows, form)
        assert capsys.readouterr().err == ""
    output.print_rows(rows, output.Format.TABLE)
    found = capsys.readouterr()
    assert found.err == "a table of 4 rows is made: --format csv prints them at once, Ctrl-C stops it\n"
    assert found.out.count("F") == 4


def test_a_table_of_too_many_influences_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    testbed = fabric.load("fabrex-u55c")
    flows = fabric.with_limits(testbed, testbed.flows())
    rows = len(fabric.influences(testbed, flows))
    monkeypatch.setattr(estimation, "_ROWS_MOST", rows)
    assert len(fabric.influences(testbed, flows)) == rows
    monkeypatch.setattr(estimation, "_ROWS_MOST", rows - 1)
    with pytest.raises(
        InputError, match=f"more than {rows - 1} rows: give fewer flows, or take the changes one by"
    ):
        fabric.influences(testbed, flows)


def test_the_limit_of_influences_is_that_of_their_shares() -> None:
    testbed = fabric.load("fabrex-u55c")
    flows = fabric.with_limits(testbed, testbed.flows())
    changes = len([*fabric.influence_of_each(testbed, flows)])
    shares = changes * len(flows)
    assert len([*fabric.influence_of_each(testbed, flows, limit=shares)]) == changes
    with pytest.raises(InputError, match=f"limit is {shares - 1}: .* need {shares} shares: give {shares}"):
        next(fabric.influence_of_each(testbed, flows, limit=shares - 1))
