"""Keys that no measurement of a machine determines: borrowed from another machine's profile, or assumed.

The provenance of a file says so in `unmeasured` and `others`. A key that a caller changed is neither.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pcielab.library.profiles.parts import System
    from pcielab.library.profiles.system import ResolvedSystem


def borrowed_keys(system: "ResolvedSystem") -> dict[str, str]:
    """The borrowed keys of a system, and the profile that each comes from; absent keys are left out."""
    found = ((key, system.unmeasured_of(key)) for key in _present(system.system.dump()))
    return {key: reason["borrowed"] for key, reason in found if isinstance(reason, Mapping)}


def unmeasured_keys(system: "ResolvedSystem") -> dict[str, str]:
    """The keys of a system that nobody measured: `borrowed`, `assumed`, or `unidentified` by its rows."""
    found = ((key, system.unmeasured_of(key)) for key in _present(system.system.dump()))
    return {key: reason if isinstance(reason, str) else next(iter(reason)) for key, reason in found if reason}


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
