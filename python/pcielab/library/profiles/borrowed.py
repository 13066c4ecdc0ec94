"""Borrowed keys: those that no row of a machine determines, with the value of another machine's profile.

Provenance says so, as `borrowed from gen5-server (assumed there)`. A key that a caller changed is not borrowed.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pcielab.library.profiles.parts import System
    from pcielab.library.profiles.system import ResolvedSystem

_FROM = re.compile(r"borrowed from ([\w-]+)")


def borrowed_keys(system: "ResolvedSystem") -> dict[str, str]:
    """The borrowed keys of a system, and the profile that each comes from; absent keys are left out."""
    found = ((key, _FROM.match(system.source_of(key))) for key in _present(system.system.dump()))
    return {key: match[1] for key, match in found if match}


def _present(table: Mapping[str, Any], below: str = "") -> Iterator[str]:
    """The dotted keys with a single value that is present."""
    for name, value in table.items():
        for key, one in enumerate(value) if isinstance(value, list) else [(None, value)]:
            path = f"{below}{name}" if key is None else f"{below}{name}.{key}"
            if isinstance(one, dict):
                yield from _present(one, f"{path}.")
            elif key is None and one is not None:
                yield path


def borrowed_in_short(borrowed: Mapping[str, str], system: "System") -> str:
    """How many keys of a system are borrowed, and from where: `38 of 118 keys, from gen5-server`."""
    total = sum(1 for _ in _present(system.dump()))
    return f"{len(borrowed)} of {total} keys, from {', '.join(sorted(set(borrowed.values())))}"
