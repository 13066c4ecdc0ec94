"""Look up profiles and suites of every kind: the kinds of a name or file, its values, its schema.

The modules of the kinds are loaded on demand.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcielab.errors import refusal
from pcielab.library import shipped
from pcielab.library.input_files import given_path, read_toml
from pcielab.library.lookup import existing, is_path, profile_kinds as profile_kinds_of_name, suite_kinds, unknown
from pcielab.library.shipped import DescriptionKind, ProfileKind, SuiteKind

if TYPE_CHECKING:
    from pcielab.library.profiles.listing import Listing
    from pcielab.library.suites import MessageSuite, Suite


def profile_kinds(name_or_path: str) -> list[ProfileKind]:
    """The kinds of profile with this name; a file (`*.toml`) has one kind, the one that its keys fit best.

    A name with switches (`connectx-5+mprq`) is a NIC's.
    """
    if "+" in name_or_path:
        from pcielab import _core

        nic, switches = _core.Nic.split(name_or_path)
        if switches and "nic" in profile_kinds(nic):
            return ["nic"]
    if is_path(name_or_path):
        return [_profile_kind_of(existing(given_path(name_or_path), "profile"))]
    kinds = profile_kinds_of_name(name_or_path)
    if not kinds:
        files = ChainMap(*(shipped.profile_files(kind) for kind in shipped.PROFILE_FOLDERS))
        raise unknown("profile", name_or_path, files)
    return kinds


def suite_kind(name_or_path: str) -> SuiteKind:
    """The kind of the suite of this name, or in this file (`*.toml`): by what its tests send."""
    if is_path(name_or_path):
        return _suite_kind_of(existing(given_path(name_or_path), "suite"))
    kinds = suite_kinds(name_or_path)
    if not kinds:
        files = ChainMap(*(shipped.suite_files(kind) for kind in shipped.SUITE_FOLDERS))
        raise unknown("suite", name_or_path, files)
    return kinds[0]


def load_work(name_or_path: str) -> "Suite | MessageSuite":
    """The suite of this name, or in this file (`*.toml`), of any kind that `pcielab run` takes.

    Raises:
        InputError: The suite is missing or wrong, or is a fabric suite.
    """
    from pcielab.library import suites

    loaders: dict[SuiteKind, Callable[[str], Suite | MessageSuite]] = {
        "transfers": suites.load_suite,
        "messages": suites.load_message_suite,
    }
    kind = suite_kind(name_or_path)
    if kind not in loaders:
        raise refusal("conflict", f"--suite {name_or_path}: is a {kind} suite: run it with `pcielab {kind} run`")
    return loaders[kind](name_or_path)


def profile_listing(
    kind: ProfileKind, name_or_path: str, sets: Mapping[str, object] | Sequence[str] = ()
) -> "Listing":
    """Every value of a profile with its source.

    Raises:
        InputError: No profile of this kind has this name, it is wrong, or `sets` cannot change it.
    """
    from pcielab.library.profiles.listing import document_listing, listing

    if kind == "system" or kind == "host" or kind == "device" or kind == "link":
        return listing(kind, name_or_path, sets)
    from pcielab.library.profiles.read import own_sets

    own = sets if isinstance(sets, Mapping) else own_sets(kind, sets, f"this profile, of kind {kind},")
    found = described(kind, name_or_path, own)
    if kind == "nic":
        from pcielab.library.profiles.provenance import Provenance

        values = {key: value for key, value in found.dump().items() if key not in ("description", "provenance")}
        values["switch"] = values.pop("switch")
        return document_listing(kind, found.description, Provenance(source=found.provenance), values)
    if kind == "fabric":
        keys = ("name", "mps_bytes", "hosts", "devices", "node", "link", "flow", "flows")
        values = {key: found.handle.get(key) for key in keys}
    else:
        values = {key: value for key, value in found.dump().items() if key != "title"}
    return document_listing(kind, found.title, found.provenance, values)


def preset_listing(name: str) -> "Listing | None":
    """The values of a fabric's device with their sources; None if none has that name, or a profile has it."""
    if name not in shipped.fabric_device_files() or profile_kinds_of_name(name):
        return None
    from pcielab.library.profiles.listing import document_listing
    from pcielab.library.profiles.provenance import Provenance

    content = read_toml(shipped.fabric_device_files()[name])
    values = {key: value for key, value in content.items() if key not in ("title", "provenance")}
    return document_listing("fabric-device", content["title"], Provenance(**content["provenance"]), values)


def described(kind: DescriptionKind, name_or_path: str, sets: Mapping[str, object] | Sequence[str] = ()) -> Any:
    """The NIC, engine, expander, core, BAR, messages or fabric of a name or file.

    Raises:
        InputError: It is missing or wrong, or `sets` cannot change it.
    """
    if kind == "nic":
        from pcielab.library.nics import load_nic

        return load_nic(name_or_path, sets)
    if kind == "engine":
        from pcielab.library.engines import load_engine

        return load_engine(name_or_path, sets)
    if kind == "expander":
        from pcielab.library.expanders import load_expander

        return load_expander(name_or_path, sets)
    if kind == "core":
        from pcielab.library.cores import load_core

        return load_core(name_or_path, sets)
    if kind == "bar":
        from pcielab.library.cores import load_bar

        return load_bar(name_or_path, sets)
    if kind == "messages":
        from pcielab.library.message_profiles import load_message_profile

        return load_message_profile(name_or_path, sets)
    from pcielab.library.fabrics.load import load

    return load(name_or_path, sets)


def profile_schema(kind: ProfileKind) -> dict[str, Any]:
    """The JSON Schema of a kind of profile."""
    if kind == "fabric":
        from pcielab.library.fabrics import load

        return load.json_schema()
    from pcielab.library.profiles import files

    return files.json_schema(kind)


def _profile_kind_of(path: Path) -> ProfileKind:
    content = read_toml(path)

    def fit(kind: ProfileKind) -> int:
        return len(profile_schema(kind)["properties"].keys() & content.keys()) + (
            str(content.get("base")) in shipped.profile_files(kind)
        )

    return max(shipped.PROFILE_FOLDERS, key=fit)


def _suite_kind_of(path: Path) -> SuiteKind:
    content = read_toml(path)
    if "experiment" in content:
        return "fabric"
    groups = content.get("group")
    tables = [group for group in groups if isinstance(group, dict)] if isinstance(groups, list) else []
    return "messages" if any("ways" in group for group in tables) else "transfers"
