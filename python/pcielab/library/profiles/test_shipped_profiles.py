"""Every shipped profile resolves, has sources for its values, and is named like its file."""

import json
from pathlib import Path

import jsonschema
import pytest

from pcielab import _core
from pcielab.errors import InputError
from pcielab.library import profiles, shipped
from pcielab.library.input_files import read_toml
from pcielab.library.profiles import files
from pcielab.library.profiles.files import Kind
from pcielab.library.profiles.keys import leaves
from pcielab.library.profiles.parts import System
from pcielab.library.profiles.values import keys_of_table, known_keys

SYSTEMS = profiles.names("system")
MEASURED = [
    *("snb", "snb-iommu", "ib-000", "ib-000-iommu", "ib-000-nosp", "ib-011", "ib-011-iommu", "ib-011-nosp"),
    *("hsw2620", "hsw2620-iommu", "hsw2620-nosp"),
]
PREDICTED = [
    *("bdw-000", "bdw-000-nosp", "bdw-001", "bdw-010", "bdw-011", "bdw-011-nosp", "hsw2637", "hsw2637-nosp"),
]
"""Calibrated from only the rows of a pack."""
ROUGH = ["e3", "e3-nosp"]
"""Measured, but not described well enough to be called calibrated."""
BORROWING = ["clx-6234", "gen5-gpu", "icx-6346"]
"""Pinned by published rows as far as these go; other keys are borrowed."""
FILES = [(kind, path) for kind in profiles.KINDS for path in shipped.profile_files(kind).values()]


def test_ships_the_documented_systems() -> None:
    others = ["netfpga-hsw", "gen5-x16", "kpio-2012", *BORROWING]
    assert sorted([*MEASURED, *PREDICTED, *ROUGH, *others]) == SYSTEMS


@pytest.mark.parametrize(("kind", "path"), FILES, ids=lambda value: getattr(value, "stem", value))
def test_a_profile_is_named_like_its_file(kind: Kind, path: Path) -> None:
    assert read_toml(path)["name"] == path.stem


@pytest.mark.parametrize(("kind", "path"), FILES, ids=lambda value: getattr(value, "stem", value))
def test_a_note_names_a_key_that_exists(kind: Kind, path: Path) -> None:
    known = set(known_keys(System))
    prefix = "" if kind == "system" else f"{kind}."
    assert {prefix + key for key in profiles.check_file(kind, path).provenance.keys} <= known


@pytest.mark.parametrize(("kind", "path"), FILES, ids=lambda value: getattr(value, "stem", value))
def test_a_file_satisfies_its_schema(kind: Kind, path: Path) -> None:
    jsonschema.validate(profiles.check_file(kind, path).table, profiles.json_schema(kind))


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_resolves_to_every_key_of_the_simulator(name: str) -> None:
    resolved = profiles.resolve(name)
    content = json.loads(resolved.to_json())
    assert content["name"] == name
    assert set(content) == set(keys_of_table(System))
    parts = {"name", "sockets", "root_complex", "llc", "memory", "iommu", "idle"}
    assert set(content["host"]) - {"load"} == parts, "only what a host lacks is left out"
    assert resolved.to_json() == json.dumps(content, sort_keys=True, separators=(",", ":"))


@pytest.mark.parametrize("name", SYSTEMS)
def test_only_measured_systems_are_calibrated(name: str) -> None:
    assert profiles.resolve(name).system.calibrated == (name in [*MEASURED, *PREDICTED])


@pytest.mark.parametrize("name", [*PREDICTED, "e3-nosp"])
def test_a_prediction_says_so_in_its_title_and_in_its_provenance(name: str) -> None:
    resolved = profiles.resolve(name)
    assert "predict" in resolved.system.title
    assert "no other row" in resolved.provenance["system"].notes


def test_an_uncalibrated_system_says_so_in_its_title() -> None:
    for name in set(SYSTEMS) - {*MEASURED, *PREDICTED}:
        assert "uncalibrated" in profiles.resolve(name).system.title.lower()


def test_measured_systems_are_calibrated_or_experimental_with_a_reason() -> None:
    reasons = {name: profiles.resolve(name).provenance["system"].experimental for name in SYSTEMS}
    assert [name for name, reason in reasons.items() if reason] == ROUGH
    for name in ROUGH:
        assert reasons[name].endswith(".")
        assert ". " not in reasons[name], "one sentence"
        assert not profiles.resolve(name).system.calibrated


def test_boards_with_a_window_are_those_of_snb_and_e3() -> None:
    def window(name: str) -> bool:
        command = profiles.resolve(name).system.device.command
        return command is not None and command.bar_window is not None

    assert [name for name in [*MEASURED, "e3"] if window(name)] == ["snb", "snb-iommu", "e3"]


@pytest.mark.parametrize("kind", profiles.KINDS)
def test_a_schema_is_a_json_schema(kind: Kind) -> None:
    schema = profiles.json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema["properties"]) >= {"name", "title", "provenance"}
    assert schema["title"] == f"{'Card' if kind == 'device' else kind.title()}File"


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_simulator_takes_a_shipped_system(name: str) -> None:
    handle = profiles.resolve(name).handle
    assert _core.System.of_json(handle.json()) == handle


def test_the_simulator_refuses_missing_and_unknown_keys() -> None:
    content = json.loads(profiles.resolve("e3").to_json())
    content["host"]["load"] = {"cores": 0, "kind": "read", "core_share": 0.0}
    required = {key for key, described, _ in leaves(files.system_schema(), None) if described["required"]}
    assert len(required) > 80
    for path in [key for key in known_keys(System) if "clusters" not in key]:
        for change in ("drop", "add"):
            copy = json.loads(json.dumps(content))
            *parents, last = path.split(".")
            table = copy
            for step in parents:
                table = table[step]
            if change == "drop" and path in required:
                del table[last]
            else:
                table["frob_ns"] = 1
            with pytest.raises(InputError):
                _core.System.of_json(json.dumps(copy))


@pytest.mark.parametrize("name", BORROWING)
def test_a_borrowed_key_says_from_where(name: str) -> None:
    resolved = profiles.resolve(name)
    host = [key for key in known_keys(System) if key.startswith("host.") and resolved.source_of(key)]
    borrowed = [key for key in host if resolved.source_of(key).startswith("borrowed from gen5-server")]
    assert len(borrowed) > len(host) / 2
    assert "host.root_complex.read_ns" in borrowed
