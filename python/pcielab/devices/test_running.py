"""Every kind of device with every kind of work: taken as declared, or refused with a remedy."""

from pathlib import Path
from typing import Any, get_args

import pytest

import pcielab
from pcielab import InputError, RunOptions, devices, fabric, load_message_suite, load_suite, model
from pcielab.devices import registry
from pcielab.devices.kind import Carrier, Kind, Option, Takes, messages_by_options
from pcielab.devices.running import open_work
from pcielab.library.profiles.part import Part
from pcielab.work.options import ASKED_BY, Work, WorkKind

NOWHERE = "ffff:ff:1f.7"
GIVEN: dict[Option, dict[str, Any]] = {
    "profile": {"profile": "snb.toml"},
    "set": {"sets": ["key=1"]},
    "engine": {"options": RunOptions(engine="reference")},
    "samples": {"options": RunOptions(samples="full")},
    "trace": {"options": RunOptions(trace=5.0)},
}
"""A value for every option that not all work takes."""


def works() -> dict[WorkKind, Work]:
    """Work of every kind."""
    testbed = fabric.load("fabrex-u55c")
    points = fabric.flow_set(testbed.flows("latency"), "latency", "fifo", 1.0)
    return {
        "transfers": load_suite("quick"),
        "messages": load_message_suite("stores"),
        "frames": pcielab.Frames(model.load_nic("niantic-dpdk"), [64]),
        "lines": pcielab.MemoryLines(loads=[0.5], lines=1000),
        "flows": fabric.Flows(testbed, points, "latency"),
    }


WORKS = works()


def as_asked(kind: Kind) -> str:
    """The form for `--device` of a kind, at an address without a device."""
    return kind.as_written.replace("ADDRESS", NOWHERE)


def pairs() -> list[tuple[Kind, Work]]:
    """Every kind of device with every kind of work."""
    return [(kind, work) for kind in devices.kinds().values() for work in WORKS.values()]


def opened(kind: Kind, work: Work, options: RunOptions | None = None, **given: Any) -> Carrier | str:
    """The carrier of work on a device, or why it is refused."""
    try:
        return open_work(work, as_asked(kind), options or RunOptions(), **given)
    except InputError as error:
        return str(error)


def test_tables_cover_every_kind_of_work_and_every_option() -> None:
    assert {*WORKS} == {*get_args(WorkKind)} == {*ASKED_BY}
    assert {*GIVEN} == {*get_args(Option)}
    assert all(work.kind == kind for kind, work in WORKS.items())


@pytest.mark.parametrize(("kind", "work"), pairs(), ids=lambda one: getattr(one, "kind", None) or one.name)
def test_kind_takes_declared_work_and_names_a_remedy_for_the_rest(kind: Kind, work: Work) -> None:
    found = opened(kind, work)
    if work.kind in kind.takes:
        if isinstance(found, str):
            assert kind.needs_address, found
            assert f"{NOWHERE}: no PCI function has this address" in found
        else:
            assert found.backend.takes == work.kind
        return
    assert isinstance(found, str)
    assert found.startswith(
        f"--device {as_asked(kind)}: takes {' and '.join(kind.takes)}, not {work.kind}: give it "
    )
    remedies = [ASKED_BY[own] for own in kind.takes]
    remedies += [other.as_written for other in devices.kinds().values() if work.kind in other.takes]
    assert [remedy for remedy in remedies if remedy not in found] == []


@pytest.mark.parametrize(("kind", "work"), pairs(), ids=lambda one: getattr(one, "kind", None) or one.name)
def test_option_without_effect_is_refused_with_its_purpose(kind: Kind, work: Work) -> None:
    for option, given in GIVEN.items():
        found = opened(kind, work, **given)
        refused = isinstance(found, str) and found.startswith(f"--{option} ") and found.endswith(": leave it out")
        expected = work.kind in kind.takes and option not in kind.takes[work.kind].options
        assert refused == expected, f"--{option}: {found}"


@pytest.mark.parametrize(("kind", "work"), pairs(), ids=lambda one: getattr(one, "kind", None) or one.name)
def test_too_many_jobs_are_refused_by_their_number(kind: Kind, work: Work) -> None:
    found = opened(kind, work)
    if isinstance(found, Carrier):
        many = found.backend.jobs_most + 1
        assert f"--jobs {many}: give 1" in str(opened(kind, work, options=RunOptions(jobs=many)))


def test_package_registers_a_kind_that_takes_messages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The kind is the simulator under another name, so that only its declaration counts."""
    takes: dict[WorkKind, Takes] = {"messages": devices.kinds()["sim"].takes["messages"]}
    kind = Kind("radio", "A radio", Part, None, lambda: [], takes)
    entry = type("EntryPoint", (), {"name": "radio", "load": lambda self: kind, "dist": None})()
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
    small = load_message_suite("kpio").only(["message_latency*"])
    assert pcielab.run(small, "radio", tmp_path / "run.db").kind == "messages"
    with pytest.raises(
        InputError, match="--device radio: takes messages, not transfers: give it a suite of messages"
    ):
        open_work("quick", "radio", RunOptions())
    with pytest.raises(
        InputError, match=r"--device cpu: takes transfers, not messages: .*sim, pio:ADDRESS or radio"
    ):
        open_work(small, "cpu", RunOptions())


def test_existing_back_end_refuses_other_work(tmp_path: Path) -> None:
    backend = devices.open_kind("cpu", sets={"host.buffer_bytes": "4M"})
    with pytest.raises(InputError, match="--device cpu: takes transfers, not messages"):
        devices.run(backend, WORKS["messages"], tmp_path / "run.db")
    with pytest.raises(InputError, match="--engine fast: is for transfers on --device sim: leave it out"):
        devices.run(backend, "quick", tmp_path / "run.db", engine="fast")
    assert not any(tmp_path.iterdir())


def test_run_without_output_keeps_its_store_while_in_use() -> None:
    store = pcielab.run(WORKS["frames"], options=RunOptions(seed=3))
    assert (store.kind, store.manifest["seed"], store.path.exists()) == ("frames", 3, True)


def test_pio_messages_omit_parameters_of_simulators() -> None:
    assert devices.kinds()["pio"].takes["messages"].carrier is messages_by_options


def test_schemas_of_options_have_titles() -> None:
    assert {kind.schema.get("title") for kind in devices.kinds().values()}.isdisjoint({None, ""})
    assert devices.kinds()["sim"].schema["title"] == "System"
