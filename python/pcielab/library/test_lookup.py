"""Names and paths work alike for every kind of profile and suite."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pcielab import InputError, load_host, load_message_suite, load_suite, load_system
from pcielab.library.catalog import profile_kinds, suite_kind
from pcielab.library.engines import load_engine
from pcielab.library.fabrics.experiments import load_fabric_suite
from pcielab.library.fabrics.load import load as load_fabric
from pcielab.library.lookup import profile_file
from pcielab.library.message_profiles import load_message_profile
from pcielab.library.nics import load_nic

LOADED: list[tuple[str, Callable[[str], Any], str]] = [
    ("system profile", lambda name: load_system(name).system, "hsw2620"),
    ("host profile", load_host, "snb-e5-2630"),
    ("NIC", load_nic, "niantic-dpdk"),
    ("engine", load_engine, "gpu-h100"),
    ("profile of messages", load_message_profile, "kpio-2012"),
    ("fabric", load_fabric, "fabrex-u55c"),
    ("suite", load_suite, "paper"),
    ("suite of messages", load_message_suite, "kpio-mux"),
    ("fabric suite", load_fabric_suite, "rpciebench"),
]
kinds = pytest.mark.parametrize(("label", "load", "name"), LOADED, ids=[label for label, *_ in LOADED])


@kinds
def test_names_ignore_case(label: str, load: Callable[[str], Any], name: str) -> None:
    assert load(name.upper()).name == load(name).name == name


@pytest.mark.parametrize(("label", "load", "name"), LOADED[:5], ids=[label for label, *_ in LOADED[:5]])
def test_a_pickled_profile_is_the_same_again(label: str, load: Callable[[str], Any], name: str) -> None:
    described = load(name)
    again = pickle.loads(pickle.dumps(described))
    assert type(again) is type(described)
    assert again == described


@kinds
def test_suggests_the_name_for_a_typing_error(label: str, load: Callable[[str], Any], name: str) -> None:
    with pytest.raises(InputError, match=f"no {label} is named '{name}x': did you mean {name}") as refused:
        load(f"{name}x")
    assert (refused.value.value, "for a file give its path" in str(refused.value.remedy)) == (f"{name}x", True)


@kinds
@pytest.mark.parametrize("path", ["missing.toml", "some/folder"])
def test_a_path_never_finds_a_shipped_file(label: str, load: Callable[[str], Any], name: str, path: str) -> None:
    with pytest.raises(InputError, match=f"{path}: {label} not found") as refused:
        load(path)
    assert refused.value.subject == path


@kinds
def test_refuses_a_folder(label: str, load: Callable[[str], Any], name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{label} not found: it is a folder"):
        load(str(tmp_path))


@kinds
def test_a_missing_file_names_files_and_names_alike(
    label: str, load: Callable[[str], Any], name: str, tmp_path: Path
) -> None:
    for file in ("server.toml", "other.toml", "servr.txt"):
        (tmp_path / file).write_text("")
    with pytest.raises(InputError, match=f"servr.toml: {label} not found: no such file: did you mean ") as refused:
        load(str(tmp_path / "servr.toml"))
    assert refused.value.remedy == f"did you mean {tmp_path / 'server.toml'}?"
    with pytest.raises(InputError, match=f"no such file: did you mean {name}") as refused:
        load(str(tmp_path / f"{name}x.toml"))


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("")
    assert profile_file("host", "own.toml", tmp_path) == tmp_path / "own.toml"


def test_aliases_find_a_profile() -> None:
    assert profile_kinds("nfp6000-snb") == ["system"]
    assert profile_file("system", "NFP6000-SNB").stem == "snb"
    with pytest.raises(InputError, match="did you mean NFP6000-SNB"):
        profile_file("system", "NFP6000-SNBX")


def test_suggests_suites_of_all_kinds() -> None:
    assert suite_kind("KPIO-mux") == "messages"
    with pytest.raises(InputError, match="did you mean kpio"):
        suite_kind("kpi")
