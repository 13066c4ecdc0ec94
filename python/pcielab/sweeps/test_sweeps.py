"""Points of sweeps equal those of runs, are computed once, and survive the death of workers."""

import json
import os
import signal
from pathlib import Path

import pandas as pd
import pytest

import pcielab
from pcielab import InputError, between
from pcielab.sweeps import TABLE, Draws, Plan, Point, carry_out, load_sweep
from pcielab.sweeps.axes import axes_of
from pcielab.sweeps.journal import NAME, Journal
from pcielab.sweeps.point import plain
from pcielab.sweeps.processes import Processes

SPEC = """\
name = "ddio"
title = "DDIO ways by window"
system = "snb"

[test]
test = "lat-rd"
cache = "device-warm"

[grid]
"host.llc.ddio_ways" = [1, 4]
window = ["64K", "16M"]
"""


def plan(**axes: object) -> Plan:
    return Plan(pcielab.load_system("snb"), axes_of(axes), Draws(count=8))


def points(**axes: object) -> list[Point]:
    return [Point(one.system.to_json(), one.suite.to_json()) for one in plan(**axes).settings()]


def test_a_point_has_the_numbers_of_a_run_of_its_test() -> None:
    system = pcielab.load_system("ib-000-nosp").with_(iommu_walk_ns=500)
    for operation in ("bw-rdwr", "lat-wrrd"):
        suite = pcielab.single_test(operation, size=64, window="16M")
        record = Point(system.to_json(), suite.to_json()).record()
        record["parameters"] = json.loads(record["parameters"])
        record["scalars"].sort(key=lambda row: row["metric"])
        assert record == next(pcielab.simulate(system, suite).records())


def test_axes_are_words_of_a_test_and_ends_of_keys() -> None:
    found = pcielab.sweep(
        "snb", test="lat-rd", size="1K", cache="device-warm", llc_ddio_ways=[1, 20], window=["64K", "16M"]
    )
    assert found.axes == ["llc_ddio_ways", "window_bytes"]
    assert found.frame["window_bytes"].tolist() == [65536, 16777216] * 2
    assert set(found.frame["origin"]) == {"simulated"}
    medians = found.xarray()["median_ns"]
    assert medians.dims == ("llc_ddio_ways", "window_bytes")
    # With all ways of a cache of 15 MiB, most of the window is in it; with one, almost nothing.
    large = medians.sel(window_bytes=16777216)
    assert large.sel(llc_ddio_ways=1) > large.sel(llc_ddio_ways=20)
    assert found.polars().height == 4


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ({"ddio": 1}, "no key ends with it"),
        ({"widow": 4096}, "did you mean window?"),
        ({"tags": 1}, "link_tags, device_dma_tags"),
        ({"window": []}, "an empty list"),
        ({"window": 1.5}, "give a size"),
        ({"cache": {}}, "give a word"),
        ({"stride": "2"}, "give a whole number"),
        ({"llc_ddio_ways": 1, "ddio_ways": 2}, "given twice"),
        ({"llc_ddio_ways": [1, 99]}, "at most ways"),
        ({"size": list(range(1, 2000)), "window": list(range(4096, 6096))}, "1000000 at most"),
    ],
)
def test_refuses_wrong_axes_before_simulating(axes: dict[str, object], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        pcielab.sweep("snb", **axes)  # type: ignore[arg-type]


def test_refuses_an_empty_range() -> None:
    with pytest.raises(InputError, match="low value below"):
        between(2, 1)


def test_a_hypercube_has_one_draw_in_each_part_of_each_range() -> None:
    drawn = [
        one.values
        for one in plan(read_ns=between(0, 800), window=between(4096, 1 << 24, "log"), size=[8, 64]).settings()
    ]
    assert len(drawn) == 16
    assert sorted(int(one["read_ns"] // 100) for one in drawn[:8]) == list(range(8))
    assert all(isinstance(one["window_bytes"], int) for one in drawn)


def test_sobol_finds_the_knob_that_matters() -> None:
    found = pcielab.sweep(
        "hsw2620", size=64, method="sobol", draws=16, link_tags=between(8, 64), memory_miss_ns=between(40, 90)
    )
    assert len(found) == 16 * 4
    indices = found.sensitivity()
    total = dict(zip(indices["knob"], indices["total"], strict=True))
    assert total["link_tags"] > 0.5 > total["memory_miss_ns"]
    assert found.plot_sensitivity().to_dict()["title"]["subtitle"][0].startswith("SIMULATED")


def test_bounds_are_modelled_and_name_the_binding_bound() -> None:
    found = pcielab.bounds("snb", test=["bw-rd", "bw-wr"], size=[64, 1024])
    simulated = pcielab.sweep("snb", test=["bw-rd", "bw-wr"], size=[64, 1024])
    assert set(found.frame["origin"]) == {"modelled"}
    # Adaptive sampling may end a transaction early.
    assert (1.0001 * found.frame["bandwidth_gbps"] >= simulated.frame["bandwidth_gbps"]).all()
    assert found.frame["binds"].notna().all()
    assert (found.frame["slack"] >= 0).all()


def test_a_folder_keeps_finished_points_whenever_it_was_stopped(tmp_path: Path) -> None:
    spec = tmp_path / "ddio.toml"
    spec.write_text(SPEC)
    whole = pcielab.sweeps.carry_out(load_sweep(spec), tmp_path / "whole")
    table = (tmp_path / "whole" / TABLE).read_bytes()
    journal = (tmp_path / "whole" / NAME).read_bytes()
    first = journal.index(b"\n") + 1
    for kept, computed in ((0, 4), (first, 3), (first + 40, 3), (len(journal) - 1, 1), (len(journal), 0)):
        folder = tmp_path / f"kept-{kept}"
        folder.mkdir()
        (folder / NAME).write_bytes(journal[:kept])
        again = pcielab.sweeps.carry_out(load_sweep(spec), folder, resume=True)
        assert (again.computed, (folder / TABLE).read_bytes()) == (computed, table)
    assert whole.computed == 4


def test_a_damaged_line_loses_only_its_own_points(tmp_path: Path) -> None:
    spec = tmp_path / "ddio.toml"
    spec.write_text(SPEC)
    pcielab.sweeps.carry_out(load_sweep(spec), tmp_path / "whole")
    table = (tmp_path / "whole" / TABLE).read_bytes()
    journal = (tmp_path / "whole" / NAME).read_bytes()
    second = journal.index(b"\n") + 1
    median = journal.index(b"median", second)
    digit = next(index for index in range(median, len(journal)) if journal[index : index + 1].isdigit())
    line_end = journal.index(b"\n", second)
    # A digit of a number, the line's first character, and its end, which also damages the next line.
    for index, flipped, lost in ((digit, 1, 1), (second, 4, 1), (line_end, 1, 2)):
        folder = tmp_path / f"flipped-{index}"
        folder.mkdir()
        damaged = bytearray(journal)
        damaged[index] ^= flipped
        (folder / NAME).write_bytes(damaged)
        again = pcielab.sweeps.carry_out(load_sweep(spec), folder, resume=True)
        assert (again.computed, again.known, again.damaged) == (lost, 4 - lost, 1)
        assert (folder / TABLE).read_bytes() == table
        assert (folder / NAME).read_bytes().startswith(damaged)
        assert pcielab.sweeps.carry_out(load_sweep(spec), folder, resume=True).known == 4


@pytest.mark.parametrize("result", ["[]", "{}", '{"status": 1, "message": null, "numbers": {}}', "[" * 100_000])
def test_a_forged_line_is_damaged_despite_a_right_digest(tmp_path: Path, result: str) -> None:
    [point] = points(size=[64])
    found = point.result()
    for forged in (result, found.replace('"numbers":{', '"numbers":{"median":1,')):
        folder = tmp_path / str(len(forged))
        with Journal(folder_of(folder)) as journal:
            journal.add([(point.address, forged)])
        with Journal(folder) as journal:
            assert (journal.known, journal.damaged) == ({}, 1)
    with Journal(folder_of(tmp_path / "right")) as journal:
        journal.add([(point.address, found)])
    with Journal(tmp_path / "right") as journal:
        assert (journal.known, journal.damaged) == ({point.address: found}, 0)


def folder_of(path: Path) -> Path:
    path.mkdir()
    return path


def test_refuses_a_journal_that_is_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / NAME)
    with pytest.raises(InputError, match="is not a regular file"):
        pcielab.sweep("snb", output=tmp_path)


def test_counts_computed_and_known_points(tmp_path: Path) -> None:
    pcielab.sweep("snb", size=[64, 128], output=tmp_path / "a")
    found = pcielab.sweep("snb", size=[64, 256, 256, 64], output=tmp_path / "a")
    assert (len(found), found.computed, found.known) == (4, 1, 2)


def test_a_point_of_two_sweeps_is_computed_once(tmp_path: Path) -> None:
    pcielab.sweep("snb", size=[64, 128], output=tmp_path / "a")
    assert pcielab.sweep("snb", size=[128, 64, 256], output=tmp_path / "a").computed == 1


def test_refuses_a_folder_that_is_not_a_sweeps(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="not the folder of a sweep"):
        pcielab.sweep("snb", output=tmp_path)
    pcielab.sweep("snb", output=tmp_path / "new")
    with pytest.raises(InputError, match="--resume"):
        pcielab.sweep("snb", output=tmp_path / "new", resume=False)


def test_killed_processes_change_no_result() -> None:
    asked = points(size=[8, 64, 256, 1024], test=["bw-rd", "lat-rd"])
    expected = [point.result() for point in asked]
    batches = [(number, plain([point])) for number, point in enumerate(asked)]
    with Processes(2) as processes:
        found: dict[int, list[str]] = {}
        for number, results in processes.results(batches):
            found[number] = results
            if len(found) in (1, 3):
                for process in list(processes._running):
                    process.kill()
        running = [process.pid for process in processes._running]
    assert [found[number][0] for number in range(len(asked))] == expected
    assert running == []


def test_a_worker_ends_when_its_stdin_closes() -> None:
    processes = Processes(1)
    number, _ = next(iter(processes.results([(0, plain(points(size=[64])))])))
    assert number == 0
    process = processes._start()
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=600) == 0


def test_a_sweep_continues_after_ctrl_c(tmp_path: Path) -> None:
    calls: list[int] = []

    def progress(done: int, _total: int, _step: str) -> None:
        calls.append(done)
        if len(calls) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    sizes = list(range(64, 128, 8))
    with pytest.raises(pcielab.RunError, match="--resume"):
        pcielab.sweep("snb", size=sizes, output=tmp_path / "a", jobs=1, progress=progress)
    again = pcielab.sweep("snb", size=sizes, output=tmp_path / "a")
    assert 0 < again.computed < len(sizes)


def test_systems_can_be_an_axis() -> None:
    asked = plan(system=["snb", "e3"], llc_ddio_ways=[1, 2], size=[64, 128])
    made = [(one.system.system.name, one.system.host.llc.ddio_ways) for one in asked.settings()]
    assert made == [(name, ways) for name in ("snb", "e3") for ways in (1, 2) for _ in (64, 128)]
    assert [one.values["system"] for one in asked.settings()] == ["snb"] * 4 + ["e3"] * 4


def test_sizes_of_sweeps_take_ranges() -> None:
    assert axes_of({"size": "64:4K:x2"})[0].values == [64, 128, 256, 512, 1024, 2048, 4096]
    assert axes_of({"window": "8K"})[0].values == ["8K"]


def test_an_axis_of_words_and_numbers_is_a_column_of_texts(tmp_path: Path) -> None:
    asked = plan(flit_error_rate=["specification", 1e-4], size=64)
    asked = Plan(pcielab.load_system("gen5-x16").with_({"link.flit": True}), asked.axes)
    found = carry_out(asked, tmp_path / "new")
    rates = ["specification", "0.0001"]
    assert found.frame["flit_error_rate"].tolist() == rates
    assert pd.read_parquet(tmp_path / "new" / TABLE)["flit_error_rate"].tolist() == rates
    bounds = pcielab.bounds("snb", test="bw-wr", posted_data_credits=[64, "infinite"])
    assert bounds.frame["posted_data_credits"].tolist() == ["64", "infinite"]
