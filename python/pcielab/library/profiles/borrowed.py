"""Keys that no measurement of a machine determines: borrowed from another machine's profile, or assumed.

The provenance of a file says so in `unmeasured` and `others`. A key that a caller changed is neither.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pcielab.library.profiles.keys import leaves, schema_of_values

if TYPE_CHECKING:
    from pcielab.library.profiles.parts import System
    from pcielab.library.profiles.system import ResolvedSystem


def borrowed_keys(system: "ResolvedSystem") -> dict[str, str]:
    """The borrowed keys of a system, and the profile that each comes from; absent keys are left out."""
    return _own_first(system.borrowed)


def unmeasured_keys(system: "ResolvedSystem") -> dict[str, str]:
    """The keys of a system that nobody measured: `borrowed`, `assumed`, or `unidentified` by its rows."""
    return _own_first(system.unmeasured)


def _own_first(words: Mapping[str, str]) -> dict[str, str]:
    """Words by key, those of the system's own keys before those of its parts, as in `System.dump`."""
    return dict(sorted(words.items(), key=lambda item: "." in item[0]))


def borrowed_in_short(borrowed: Mapping[str, str], system: "System") -> str:
    """How many keys of a system are borrowed, and from where: `38 of 118 keys, from gen5-server`."""
    total = sum(value is not None for _, _, value in leaves(schema_of_values(), system.dump()))
    return f"{len(borrowed)} of {total} keys, from {', '.join(sorted(set(borrowed.values())))}"
