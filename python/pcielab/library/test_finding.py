"""A name or a path means the same, and is refused alike, for every kind of profile and suite."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pcielab import InputError, load_host, load_message_suite, load_suite, load_system
from pcielab.library.catalog import profile_kinds, suite_kind
from pcielab.library.fabrics.experiments import load_fabric_suite
from pcielab.library.fabrics.load import load as load_fabric
from pcielab.library.finding import profile_file
from pcielab.library.message_profiles import load_message_profile
from pcielab.library.nics import load_nic

LOADED: list[tuple[str, Callable[[str], Any], str]] = [
    ("system profile", lambda name: load_system(name).system, "hsw2620"),
    ("host profile", load_host, "snb-e5-2630"),
    ("NIC", load_nic, "niantic-dpdk"),
    ("profile of messages", load_message_profile, "kpio-2012"),
    ("fabric", load_fabric, "fabrex-u55c"),
    ("suite", load_suite, "paper"),
    ("suite of messages", load_message_suite, "kpio-mux"),
    ("fabric suite", load_fabric_suite, "rpciebench"),
]
kinds = pytest.mark.parametrize(("what", "load", "name"), LOADED, ids=[what for what, *_ in LOADED])


@kinds
def test_a_name_is_found_in_any_letters(what: str, load: Callable[[str], Any], name: str) -> None:
    assert load(name.upper()).name == load(name).name == name


@kinds
def test_a_name_that_is_nearly_right_is_told_the_right_one(
    what: str, load: Callable[[str], Any], name: str
) -> None:
    with pytest.raises(InputError, match=f"no {what} is named '{name}x': did you mean {name}") as refused:
        load(f"{name}x")
    assert (refused.value.value, "a file is given by its path" in str(refused.value.remedy)) == (f"{name}x", True)


@kinds
@pytest.mark.parametrize("path", ["missing.toml", "some/folder"])
def test_a_path_leads_to_no_shipped_file(what: str, load: Callable[[str], Any], name: str, path: str) -> None:
    with pytest.raises(InputError, match=f"{path}: no such {what}") as refused:
        load(path)
    assert refused.value.subject == path


@kinds
def test_a_folder_is_no_file(what: str, load: Callable[[str], Any], name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"no such {what}"):
        load(str(tmp_path))


def test_paths_start_beside_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("")
    assert profile_file("host", "own.toml", tmp_path) == tmp_path / "own.toml"


def test_other_names_of_a_profile_are_names() -> None:
    assert profile_kinds("nfp6000-snb") == ["system"]
    assert profile_file("system", "NFP6000-SNB").stem == "snb"
    with pytest.raises(InputError, match="did you mean NFP6000-SNB"):
        profile_file("system", "NFP6000-SNBX")


def test_a_suite_of_no_kind_is_told_those_of_all() -> None:
    assert suite_kind("KPIO-mux") == "messages"
    with pytest.raises(InputError, match="did you mean kpio"):
        suite_kind("kpi")
