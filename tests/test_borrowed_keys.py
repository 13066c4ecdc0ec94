"""Borrowed keys are named beside every number that hangs on one: by commands, answers and reports."""

import json
from pathlib import Path

import pytest

import pcielab
from pcielab import Frames, Store, model, open_store, resolve, run, simulate, single_test
from pcielab.charts.run import everyone
from pcielab.report.provenance import provenance
from shell import succeed

TRANSLATION = "borrowed keys behind translation: host.iommu.pending_walks (from gen5-server)"
NONE_OF_MEMORY = "borrowed keys behind memory: none"
NIC = ("--nic", "connectx-6-kernel", "--line", "200", "--direction", "rx")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Store:
    path = tmp_path_factory.mktemp("borrowed") / "loaded.db"
    system = resolve("clx-6234", ["host.load.cores=6"])
    simulate(system, single_test("bw-wr", size=4096, transactions=20_000), path)
    return open_store(path)


def test_a_closed_form_names_them_once_for_each_bound() -> None:
    found = succeed("model", "host", "--load", "0,6", "--profile", "clx-6234", "--format", "json")
    lines = found.stderr.splitlines()
    assert NONE_OF_MEMORY in lines
    assert [line.split(":")[0] for line in lines] == [
        f"borrowed keys behind {bound}" for bound in ("device-port", "memory", "root-port")
    ]
    assert all("borrowed" not in key for row in json.loads(found.stdout) for key in row)


def test_a_system_that_borrows_nothing_is_not_spoken_of() -> None:
    assert "borrowed" not in succeed("model", "host", "--load", "0", "--profile", "hsw2620").stderr


def test_a_run_of_one_test_names_them() -> None:
    asked = ("run", "--test", "bw-wr", "--size", "4K", "--transactions", "20000", "--profile", "clx-6234")
    assert "borrowed keys behind device-port: host.root_complex.uplink_stretch" in succeed(*asked).stderr


def test_a_latency_names_those_of_its_round_trip(tmp_path: Path) -> None:
    latency = single_test("lat-rd", transactions=1000)
    [note] = pcielab.why(latency, profile="clx-6234").notes
    assert note.startswith("borrowed keys behind latency: host.root_complex.read_ns, ")
    path = tmp_path / "latency.db"
    asked = ("run", "--test", "lat-rd", "--transactions", "1000", "--profile", "clx-6234", "-o", path)
    assert note in succeed(*asked).stderr.splitlines()
    assert note in succeed("explain", path, "--test", "LAT").stderr.splitlines()


def test_a_run_of_a_nic_and_its_explanation_name_them(tmp_path: Path) -> None:
    path = tmp_path / "nic.db"
    asked = ("run", *NIC, "--frames", "1500", "--profile", "icx-6346", "-o", path)
    assert TRANSLATION in succeed(*asked).stderr.splitlines()
    assert TRANSLATION in succeed("explain", path).stderr.splitlines()


def test_an_explained_run_names_them(loaded: Store) -> None:
    assert NONE_OF_MEMORY in succeed("explain", loaded.path).stderr.splitlines()


def test_an_answer_names_them_in_its_notes(loaded: Store) -> None:
    assert NONE_OF_MEMORY in pcielab.why(loaded).notes
    [note] = pcielab.why(single_test("bw-wr", size=2048, window="64M"), profile="icx-6346").notes
    assert note.startswith("borrowed keys behind page-walks: host.iommu.pending_walks, ")


@pytest.mark.slow
def test_an_answer_about_a_nic_names_them_in_its_notes() -> None:
    work = Frames(model.load_nic("connectx-6-kernel"), [1500], model.Ethernet(line_gbps=200), "rx")
    assert TRANSLATION in pcielab.why(work, profile="icx-6346").notes


def test_the_head_of_a_report_counts_them(loaded: Store) -> None:
    [one] = everyone(loaded)
    counted = dict(provenance(one).facts)["borrowed"]
    many = len(loaded.manifest["borrowed"])
    assert counted.startswith(f"{many} of ")
    assert counted.endswith(" keys, from gen5-server")


def test_a_run_of_another_system_has_no_such_entry(tmp_path: Path) -> None:
    store = run(single_test("bw-wr", transactions=1000), profile="hsw2620", output=tmp_path / "run.db")
    assert "borrowed" not in store.manifest
