"""Check the nested parts of a manifest when a store is opened: untrusted stores may hold anything.

Values are checked by the models of files. Missing, null and unknown keys pass, since an earlier or later pcielab
may have written them; code that needs one refuses its absence.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcielab import _core
from pcielab.errors import InputError, refusal, with_message

if TYPE_CHECKING:
    from pcielab.library.nics import NicProfile
    from pcielab.library.profiles.parts import System


def check_manifest(manifest: Mapping[str, Any], source: Path) -> None:
    """Refuse a manifest with wrong nested values."""
    from pcielab.library.validation import refuse_wrong
    from pcielab.store.facts import Facts

    where = f"{source}: manifest"
    refuse_wrong(Facts, dict(manifest), where)
    for key, recorded in (("messages", _core.Messages.recorded), ("nic", _core.Nic.recorded)):
        if manifest.get(key) is not None:
            recorded(json.dumps(manifest[key]), where, key)
    fabric = (manifest.get("system") or {}).get("fabric")
    if fabric is not None:
        _checked(_core.Fabric.of_json, json.dumps(fabric), f"{where}: system.fabric")


def recorded_system(manifest: Mapping[str, Any], source: Path) -> _core.System | None:
    """The system of a simulated run, checked; None without one, or if it lacks a key or has an unknown one."""
    described = manifest.get("system") or {}
    if not described or "fabric" in described:
        return None
    return _core.System.recorded(json.dumps(described), f"{source}: manifest", "system")


def _checked(check: Callable[[str], object], content: str, where: str) -> None:
    try:
        check(content)
    except InputError as error:
        raise with_message(error, f"{where}: {str(error).splitlines()[0]}") from None


def borrowed_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The borrowed keys of a simulated run's system, and the profile that each comes from."""
    return {str(key): str(profile) for key, profile in (manifest.get("borrowed") or {}).items()}


def extrapolated_of(manifest: Mapping[str, Any]) -> list[str]:
    """The note on values of a simulated run's system that lie outside what measurements cover; mostly none."""
    return [f"extrapolated: {manifest['extrapolated']}"] if manifest.get("extrapolated") else []


def unmeasured_of(manifest: Mapping[str, Any]) -> dict[str, str] | None:
    """The keys of a simulated run's system that nobody measured, and a word on each.

    None if the run does not say, as one of an earlier version.
    """
    recorded = manifest.get("unmeasured")
    if recorded is None:
        return None
    words = {str(key): word for word in ("assumed", "unidentified") for key in recorded.get(word) or ()}
    return {**words, **dict.fromkeys(borrowed_of(manifest), "borrowed")}


def system_of(manifest: Mapping[str, Any], source: Path) -> "System":
    """The complete resolved system of a simulated run; an error names the key that it lacks."""
    from pcielab.library.profiles.parts import System

    described = _part(manifest, "system", source)
    try:
        return System.of(described)
    except InputError as error:
        raise with_message(error, f"{source}: manifest: {error}") from None


def nic_of(manifest: Mapping[str, Any], source: Path) -> "NicProfile":
    """The complete NIC of a run of frames."""
    from pcielab.library.nics import NicProfile

    described = json.dumps(_part(manifest, "nic", source))
    handle = _core.Nic.recorded(described, f"{source}: manifest", "nic")
    return NicProfile(_core.Nic.of_json(described, f"{source}: manifest: nic") if handle is None else handle)


def _part(manifest: Mapping[str, Any], key: str, source: Path) -> Any:
    if manifest.get(key) is None:
        raise refusal("missing", f"{source}: manifest: `{key}` is missing: give a simulated run, which has one")
    return manifest[key]
