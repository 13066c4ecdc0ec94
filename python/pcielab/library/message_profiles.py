"""Message profiles: a core, a device and the times between them, in TOML files under `profiles/pio`.

The crate pcie-model defines the values; keys that only files have are defined here. The link and the host are
those of the system that the profile names.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, TypeAdapter

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import found_in
from pcielab.library import shipped
from pcielab.library.link import Link
from pcielab.library.lookup import profile_file
from pcielab.library.message_parts import MessageTimes
from pcielab.library.profiles import ResolvedSystem, resolve
from pcielab.library.profiles.part import WHOLE, Name, Title
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.validation import checked, read_as

_LINK = TypeAdapter(Link)


class MessageProfile(MessageTimes):
    """A file under `profiles/pio`: messages from a core to a device, by stores and by descriptors."""

    title: Title
    """One line for people."""
    provenance: Provenance
    """Source of the values."""
    system: Name
    """The system that the times were measured on: the name of a shipped one, or a path."""
    address_bits: Annotated[Literal[32, 64], WHOLE]
    """Width of the addresses of the device's memory and of the buffers: headers of 3 or 4 DW."""

    @property
    def resolved_system(self) -> ResolvedSystem:
        """The system that the times were measured on."""
        return resolve(self.system)

    @property
    def link(self) -> Link:
        """The link that the times were measured on; the host's stores carry no ECRC."""
        link = self.resolved_system.system.link
        return Link(
            generation=link.generation,
            lanes=link.lanes,
            mps_bytes=link.mps_bytes,
            mrrs_bytes=link.mrrs_bytes,
            rcb_bytes=link.rcb_bytes,
            address_bits=self.address_bits,
            flit_mode=link.flit,
        )

    def with_changes(self, *, buffers: int | None = None, in_flight: int | None = None) -> "MessageProfile":
        """The profile with another number of write-combining buffers, or of messages in flight."""
        changed = self
        if buffers is not None:
            core = self.core.model_copy(update={"write_combining_buffers": buffers})
            changed = changed.model_copy(update={"core": core})
        if in_flight is not None:
            path = self.descriptors.model_copy(update={"messages_in_flight": in_flight})
            changed = changed.model_copy(update={"descriptors": path})
        return changed

    def as_question(self) -> dict[str, Any]:
        """The profile as the compiled half takes it."""
        fields = self.model_dump(mode="json", exclude={"title", "provenance", "system", "address_bits"})
        return {"link": asdict(self.link), **fields}


class RecordedMessages(MessageTimes):
    """A message profile from the manifest of a run, with its link."""

    link: Annotated[Link, BeforeValidator(_LINK.validate_python)]
    """The link that the times were measured on."""

    def as_question(self) -> dict[str, Any]:
        """The profile as the compiled half takes it."""
        return {"link": asdict(self.link), **self.model_dump(mode="json", exclude={"link"})}


def recorded_messages(manifest: Mapping[str, Any], where: str) -> RecordedMessages:
    """The message profile in the manifest of a run; `where` is the run's path for errors."""
    profile = checked(RecordedMessages, manifest.get("messages"), f"{where}: messages")
    with found_in(f"{where}: messages"):
        _core.model_check_messages(json.dumps(profile.as_question()))
    return profile


def shipped_message_profiles() -> list[str]:
    """Names of the shipped message profiles."""
    return list(shipped.profile_files("messages"))


@refuses_wrong_types
def load_message_profile(name_or_file: str | Path) -> MessageProfile:
    """Read a message profile by name or file.

    Raises:
        InputError: The profile is missing or wrong; the message names the file and the key.
    """
    path = profile_file("messages", name_or_file)
    profile = read_as(MessageProfile, path)
    with found_in(path):
        _core.model_check_messages(json.dumps(profile.as_question()))
    return profile
