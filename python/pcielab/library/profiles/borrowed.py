"""Keys that no measurement of a machine determines: borrowed from another machine's profile, or assumed.

Provenance says so, as `borrowed from gen5-server (assumed there)`. A key that a caller changed is neither.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pcielab.library.profiles.parts import System
    from pcielab.library.profiles.system import ResolvedSystem

_FROM = re.compile(r"borrowed from ([\w-]+)")
_UNMEASURED = (
    (_FROM, "borrowed"),
    (re.compile("assum", re.IGNORECASE), "assumed"),
    (re.compile("NOT IDENTIFIED"), "unidentified"),
)


def borrowed_keys(system: "ResolvedSystem") -> dict[str, str]:
    """The borrowed keys of a system, and the profile that each comes from; absent keys are left out."""
    found = ((key, _FROM.match(system.source_of(key))) for key in _present(system.system.dump()))
    return {key: match[1] for key, match in found if match}


def unmeasured_keys(system: "ResolvedSystem") -> dict[str, str]:
    """The keys of a system that nobody measured: `borrowed`, `assumed`, or `unidentified` by its rows."""
    found = {}
    for key in _present(system.system.dump()):
        source = system.source_of(key) or _source_of_part(system, key)
        for pattern, word in _UNMEASURED:
            if pattern.match(source):
                found[key] = word
    return found


def _source_of_part(system: "ResolvedSystem", key: str) -> str:
    """The source of the part of a key, which stands for keys without one."""
    part = key.partition(".")[0]
    sources = next((found for kind, found in system.provenance.items() if kind == part), None)
    return sources.source if sources is not None else ""


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
