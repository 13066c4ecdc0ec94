"""Two runs of other kinds, and measured ones, are compared as they are, with the values in which they differ."""

import json
from pathlib import Path

import pytest

from pcielab import InputError, open_store, run, simulate, single_test
from pcielab._core import StoreWriter
from pcielab.analysis.explain.contrast import contrast
from pcielab.analysis.explain.sentences import sentences
from pcielab.model import Ethernet, load_nic
from pcielab.store import Store
from pcielab.work.frames import Frames


def frames(name: str) -> Store:
    return simulate("snb", Frames(load_nic(name), [64, 1500], Ethernet(line_gbps=40.0), packets=3000))


@pytest.fixture(scope="module")
def nics() -> tuple[Store, Store]:
    return frames("niantic-dpdk"), frames("simple-nic")


def test_two_nics_differ_in_their_steps(nics: tuple[Store, Store]) -> None:
    found = contrast(*nics)
    assert not found.simulated
    [change] = found.changes
    assert str(change[0]) == "nic.name niantic-dpdk -> simple-nic"
    assert all(one.key.startswith("nic.") for one in change)
    assert [row.parameters["frame_bytes"] for row in found.rows] == [64, 1500]
    assert all(row.bounds[0] and row.bounds[1] for row in found.rows)
    small = found.rows[0]
    assert small.change_percent < -10
    assert sentences(found)[0].startswith(
        f"nic.name niantic-dpdk -> simple-nic and {len(change) - 1} more values: frames both ways"
    )


def test_equal_runs_of_a_nic_change_nothing(nics: tuple[Store, Store]) -> None:
    found = contrast(nics[0], nics[0])
    assert found.changes == []
    assert found.moved == []
    assert sentences(found) == ["B against A: none of 2 tests changes by 1 % or more"]


def without_profile(whole: Store, path: Path) -> Store:
    manifest = {key: value for key, value in whole.manifest.items() if key != "system"} | {"origin": "measured"}
    with StoreWriter.create(path, json.dumps(manifest)) as store:
        for record in whole.records():
            store.write_test(json.dumps(record | {"parameters": json.dumps(record["parameters"])}))
    return open_store(path)


def test_a_run_without_a_profile_has_values_and_a_note(tmp_path: Path) -> None:
    slow, fast = reads(tags=8), reads(tags=32)
    measured = without_profile(fast, tmp_path / "measured.db")
    found = contrast(slow, measured)
    [row] = found.rows
    assert (row.parameters["operation"], row.unit) == ("bw-rd", "Gb/s")
    assert row.change_percent > 100
    assert found.notes == ["a run without a profile: the values in which the machines differ are not known"]
    assert sentences(found)[0].startswith("B against A: reads gain ")


def reads(tags: int) -> Store:
    work = single_test("bw-rd", size=64, window="8K", cache="host-warm")
    return run(work, profile="hsw2620", sets=[f"link.tags={tags}"])


def test_tests_are_chosen(nics: tuple[Store, Store]) -> None:
    assert [row.test for row in contrast(*nics, tests=["1"]).rows] == [1]
    with pytest.raises(InputError, match="--test 9: matches no test"):
        contrast(*nics, tests=["9"])
