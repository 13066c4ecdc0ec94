"""Borrowed keys: those that no row of a machine determines, with the value of another machine's profile.

Provenance says so, as `borrowed from gen5-server (assumed there)`. A key that a caller changed is not borrowed.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pcielab.library.profiles.keys import keys_of

if TYPE_CHECKING:
    from pcielab.library.profiles.parts import System
    from pcielab.library.profiles.system import ResolvedSystem

_FROM = re.compile(r"borrowed from ([\w-]+)")


def borrowed_keys(system: "ResolvedSystem") -> dict[str, str]:
    """The borrowed keys of a system, and the profile that each comes from; absent keys are left out."""
    present = (key for key in keys_of(system.system, system.source_of) if key.value is not None)
    found = ((key.key, _FROM.match(key.source)) for key in present)
    return {key: match[1] for key, match in found if match}


def borrowed_in_short(borrowed: Mapping[str, str], system: "System") -> str:
    """How many keys of a system are borrowed, and from where: `38 of 118 keys, from gen5-server`."""
    total = sum(key.value is not None for key in keys_of(system, lambda _key: ""))
    return f"{len(borrowed)} of {total} keys, from {', '.join(sorted(set(borrowed.values())))}"
