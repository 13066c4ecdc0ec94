"""The nested parts of a manifest, checked as a store is opened: foreign stores hold anything.

They are checked by the models that files have: what is there has to be what a file of it may hold. What is
missing, null or unknown passes, as an earlier or a later pcielab may have written it; whoever needs it says so.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcielab import _core
from pcielab.errors import InputError, with_message

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pcielab.library.nics import NicProfile
    from pcielab.library.profiles.parts import System


def check_manifest(manifest: Mapping[str, Any], source: Path) -> None:
    """Refuse a manifest whose nested values cannot be what they stand for.

    Raises:
        InputError: Names the store, the key, what is there, and what would be right.
    """
    from pcielab.library.validation import refuse_wrong

    for prefix, model, content in _parts(manifest):
        whole = refuse_wrong(model, content, f"{source}: manifest", prefix)
        # What holds between the parts of a whole one is known to the compiled half.
        if prefix == "system." and whole is not None:
            _checked(_core.check_system, whole.model_dump_json(), f"{source}: manifest: system")
        if prefix == "nic." and whole is not None:
            _checked(_core.model_check_nic, whole.model_dump_json(exclude_none=True), f"{source}: manifest: nic")
    fabric = (manifest.get("system") or {}).get("fabric")
    if fabric is not None:
        _checked(_core.fabric_check, json.dumps(fabric), f"{source}: manifest: system.fabric")


def _checked(check: Callable[[str], None], content: str, where: str) -> None:
    try:
        check(content)
    except InputError as error:
        raise with_message(error, f"{where}: {str(error).splitlines()[0]}") from None


def system_of(manifest: Mapping[str, Any], source: Path) -> "System":
    """The resolved system of a simulated run, whole.

    Raises:
        InputError: The store has none, or one that lacks something.
    """
    from pcielab.library.profiles.parts import System
    from pcielab.library.validation import needed

    return needed(System, _there(manifest, "system", source), f"{source}: manifest", "system.")


def nic_of(manifest: Mapping[str, Any], source: Path) -> "NicProfile":
    """The NIC of a run of frames, whole.

    Raises:
        InputError: The store has none, or one that lacks something.
    """
    from pcielab.library.nics import NicProfile
    from pcielab.library.validation import needed

    return needed(NicProfile, _there(manifest, "nic", source), f"{source}: manifest", "nic.")


def _there(manifest: Mapping[str, Any], key: str, source: Path) -> Any:
    content = manifest.get(key)
    if content is None:
        raise InputError(f"{source}: manifest: `{key}` is missing: give a simulated run, which has one")
    return content


def _parts(manifest: Mapping[str, Any]) -> "list[tuple[str, type[BaseModel], Any]]":
    """Keys of the parts that are there, each with its model and what it holds."""
    from pcielab.store.facts import Facts, MessageLink

    parts: list[tuple[str, type[BaseModel], Any]] = [("", Facts, dict(manifest))]
    system = manifest.get("system")
    if system and "fabric" not in system:
        from pcielab.library.profiles.parts import System

        parts.append(("system.", System, system))
    messages = manifest.get("messages")
    if messages:
        from pcielab.library.message_parts import MessageTimes

        parts += [("messages.", MessageTimes, messages), ("messages.link.", MessageLink, messages.get("link"))]
    if manifest.get("nic") is not None:
        from pcielab.library.nic_parts import Interactions

        parts.append(("nic.", Interactions, manifest["nic"]))
    return [(key, model, content) for key, model, content in parts if content is not None]
