import shutil
from pathlib import Path

import pytest

from pcielab import InputError
from pcielab.library import catalog, shipped
from pcielab.library.shipped import ProfileKind, SuiteKind


@pytest.mark.parametrize("kind", shipped.PROFILE_FOLDERS)
def test_the_keys_of_a_profile_determine_its_kind(kind: ProfileKind) -> None:
    kinds = {path.stem: catalog.profile_kinds(str(path)) for path in shipped.profile_files(kind).values()}
    assert kinds == {name: [kind] for name in shipped.profile_files(kind)}


@pytest.mark.parametrize("kind", shipped.SUITE_FOLDERS)
def test_the_keys_of_a_suite_determine_its_kind(kind: SuiteKind, tmp_path: Path) -> None:
    for path in shipped.suite_files(kind).values():
        copy = str(shutil.copy(path, tmp_path))
        assert catalog.suite_kind(copy) == catalog.suite_kind(path.stem) == kind


@pytest.mark.parametrize("kind", shipped.PROFILE_FOLDERS)
def test_every_shipped_profile_can_be_listed(kind: ProfileKind) -> None:
    for name, path in shipped.profile_files(kind).items():
        listing = catalog.profile_listing(kind, name)
        assert listing.title == shipped.title(path)
        assert any(row["key"] == "name" and row["value"] == name for row in listing.values)


def test_a_name_may_have_several_kinds_systems_first() -> None:
    assert catalog.profile_kinds("kpio-2012") == ["system", "messages"]
    with pytest.raises(InputError, match="did you mean kpio-2012"):
        catalog.profile_kinds("kpio-2013")


def test_a_name_with_switches_is_a_nics() -> None:
    assert catalog.profile_kinds("connectx-5+mprq") == ["nic"]
    rows = catalog.profile_listing("nic", "connectx-5+mprq").values
    assert {"key": "on.0", "value": "mprq", "source": ""} in rows
    with pytest.raises(InputError, match="no profile is named"):
        catalog.profile_kinds("connectx-55+mprq")
