"""Read profiles: shipped names, files by name or path, and the changes of `--set`.

The compiled half (`crates/pcie-describe`) asks `opened` for each file that a system, its bases and its parts name.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pcielab import _core
from pcielab.errors import refusal
from pcielab.library import shipped
from pcielab.library.input_files import read_toml_text
from pcielab.library.lookup import profile_file
from pcielab.library.profiles.files import DescribedKind, Kind
from pcielab.library.shipped import DescriptionKind
from pcielab.wording import named


def names(kind: Kind) -> list[str]:
    """The shipped profiles of a kind."""
    return list(shipped.profile_files(kind))


def parse_sets(sets: Mapping[str, object] | Sequence[str]) -> dict[str, Any]:
    """Changes as a mapping from key to value; texts that are not TOML values stay texts.

    Raises:
        InputError: A text is not KEY=VALUE, or a key is given twice.
    """
    if isinstance(sets, Mapping):
        return {key: _core.typed(value) if isinstance(value, str) else value for key, value in sets.items()}
    return _core.typed_changes(list(sets)) if sets else {}


def split_sets(kind: DescriptionKind, sets: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The changes of a NIC, messages or a fabric (`nic.KEY=VALUE`), without their kind, and all other changes."""
    prefix = f"{kind}."
    own = [text.removeprefix(prefix) for text in sets if text.startswith(prefix)]
    return parse_sets(own), [text for text in sets if not text.startswith(prefix)]


def own_sets(kind: DescriptionKind, sets: Sequence[str], given: str) -> dict[str, Any]:
    """The changes of a description of a kind, without their kind, where nothing else can change.

    Args:
        kind: The kind, which precedes each key: `nic.queues.pairs=4`.
        sets: The changes.
        given: What the description is, in words: `the NIC of --nic`.

    Raises:
        InputError: A change has no key of the kind.
    """
    own, others = split_sets(kind, sets)
    for key in parse_sets(others):
        raise refusal(
            "unknown-key", f"--set {named(key)}: unknown key: only {given} can change: give {kind}.KEY=VALUE"
        )
    return own


def opened(kind: DescribedKind, reference: str, beside: str | None) -> tuple[str, str]:
    """The text of a profile and the path of its file.

    Args:
        kind: Kind of profile.
        reference: A name or a path.
        beside: The file that paths are relative to; absent: the working directory.

    Raises:
        InputError: The file is missing or not text.
    """
    path = profile_file(kind, reference, Path(beside).parent if beside is not None else None)
    return read_toml_text(path), str(path)
