"""The shipped profiles and suites: kinds, names and files, unchecked.

They live at the top of the repository. `shipped_data` has links to those folders; building a wheel follows the
links, so that the same path works in an editable install and in an installed wheel.
"""

from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pcielab.library.input_files import read_toml

_ROOT = Path(__file__).parent / "shipped_data"

DescriptionKind: TypeAlias = Literal["nic", "engine", "expander", "core", "bar", "messages", "fabric"]
"""Kinds of descriptions beside systems, whose keys `--set` takes after their kind."""
ProfileKind: TypeAlias = Literal["system", "host", "device", "link", DescriptionKind]
SuiteKind: TypeAlias = Literal["transfers", "messages", "fabric"]

PROFILE_FOLDERS: dict[ProfileKind, str] = {
    "system": "systems",
    "host": "hosts",
    "device": "devices",
    "link": "links",
    "nic": "nics",
    "engine": "engines",
    "expander": "expanders",
    "core": "cores",
    "bar": "bars",
    "messages": "pio",
    "fabric": "fabrics",
}
"""Kinds of profiles and their folders; `messages` describe a core and the device that it sends to."""
SUITE_FOLDERS: dict[SuiteKind, str] = {"transfers": ".", "messages": "messages", "fabric": "fabric"}
"""Kinds of suites and their folders."""


def directory(kind: str) -> Path:
    """The folder of shipped `profiles` or `suites`."""
    return _ROOT / kind


def profile_files(kind: ProfileKind) -> dict[str, Path]:
    """The files of a kind of profiles by name."""
    return _files(directory("profiles") / PROFILE_FOLDERS[kind])


@cache
def profile_tables(*kinds: ProfileKind) -> dict[str, dict[str, dict[str, Any]]]:
    """The tables of the shipped files by kind and name, as the compiled half takes them."""
    return {kind: {name: read_toml(path) for name, path in profile_files(kind).items()} for kind in kinds}


def suite_files(kind: SuiteKind) -> dict[str, Path]:
    """The files of a kind of suites by name."""
    return _files(directory("suites") / SUITE_FOLDERS[kind])


def fabric_device_files() -> dict[str, Path]:
    """The files of the presets of devices for fabrics, by name."""
    return _files(directory("profiles") / PROFILE_FOLDERS["fabric"] / "devices")


@cache
def aliases(kind: ProfileKind) -> dict[str, str]:
    """Aliases of the profiles of a kind, each with the name that it stands for."""
    return {
        str(alias): name
        for name, path in profile_files(kind).items()
        for alias in read_toml(path).get("aliases", [])
    }


def title(path: Path) -> str:
    """The title of a shipped file."""
    content = read_toml(path)
    return str(content.get("title") or content["description"])


def experimental(path: Path) -> str:
    """Why a shipped file is experimental, in one sentence; empty if it is not."""
    provenance = read_toml(path).get("provenance")
    # The provenance of a NIC is a text.
    return str(provenance.get("experimental", "")) if isinstance(provenance, dict) else ""


def _files(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder.glob("*.toml"), key=lambda path: path.stem)}
