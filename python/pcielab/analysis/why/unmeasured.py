"""The values of a store's system that nobody measured."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pcielab.errors import InputError
from pcielab.library.profiles import resolve
from pcielab.library.profiles.borrowed import borrowed_keys, unmeasured_keys
from pcielab.library.shipped import profile_files
from pcielab.store import Store
from pcielab.store.manifest import borrowed_of, unmeasured_of

_PORT = {"device": "direct-dma"}
"""The device of a simulated NIC, which its run does not list among the changes."""


class Unmeasured(NamedTuple):
    """What is known of the values that nobody measured.

    Attributes:
        keys: Their keys, and a word on each: `assumed`, `borrowed`, `unidentified`.
        borrowed: The borrowed keys, and the profile that each comes from.
        notes: Says so if nothing is known.
    """

    keys: Mapping[str, str]
    borrowed: Mapping[str, str]
    notes: tuple[str, ...] = ()


def unmeasured_in(store: Store) -> Unmeasured:
    """The values of a store's system that nobody measured.

    A store of an earlier version does not record them: those of the shipped system of its name, if it has the same
    values.
    """
    manifest = store.manifest
    keys, borrowed = unmeasured_of(manifest), borrowed_of(manifest)
    if keys is not None:
        return Unmeasured(keys, borrowed)
    described = manifest.get("system")
    if not described:
        return Unmeasured({}, {})
    return _of_shipped(described, manifest.get("overrides") or {}) or Unmeasured(
        dict.fromkeys(borrowed, "borrowed"),
        borrowed,
        ("the store does not say which values of its system were measured, and no shipped system has them",),
    )


def _of_shipped(described: Mapping[str, Any], changes: Mapping[str, Any]) -> Unmeasured | None:
    """Those of the shipped system that has the values of a store's one; None if none has."""
    name = str(described.get("name"))
    if name not in profile_files("system"):
        return None
    for more in ({}, _PORT):
        try:
            system = resolve(name, {**more, **changes})
        except InputError:
            continue
        if system.system.dump() == described:
            return Unmeasured(unmeasured_keys(system), borrowed_keys(system))
    return None
