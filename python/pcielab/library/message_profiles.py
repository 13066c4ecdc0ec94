"""Message profiles: a core, a device and the times between them, in TOML files under `profiles/pio`.

The compiled half reads and checks them (`crates/pcie-describe`). The link and the host are those of the system
that the profile names.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.library import shipped
from pcielab.library.link import Link
from pcielab.library.message_parts import MessageTimes
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.profiles.read import opened, parse_sets
from pcielab.library.profiles.values import keys_of_table


class RecordedMessages(MessageTimes):
    """Messages from a core to a device, with the link that their times were measured on."""

    compiled = _core.Messages
    word = "messages"

    @property
    def link(self) -> Link:
        """The link that the times were measured on; the host's stores carry no ECRC."""
        return Link(**self._content()["link"])

    def as_question(self) -> dict[str, Any]:
        """The values as runs record them."""
        values = self._content()
        return {
            "link": asdict(self.link),
            **{key: values[key] for key in keys_of_table(MessageTimes) if key in values},
        }


class MessageProfile(RecordedMessages):
    """A file under `profiles/pio`: messages from a core to a device, by stores and by descriptors."""

    title: str
    """One line for people."""
    system: str
    """The system that the times were measured on: the name of a shipped one, or a path."""
    address_bits: Literal[32, 64]
    """Width of the addresses of the device's memory and of the buffers: headers of 3 or 4 DW."""

    @property
    def provenance(self) -> Provenance:
        """Source of the values."""
        return Provenance(**self._content().get("provenance", {"source": ""}))

    def with_batch(self, messages: int) -> "MessageProfile":
        """These messages with another number of them for each doorbell.

        Descriptors beyond the profile's own lengthen their read by their time on its link.

        Raises:
            InputError: The number is out of range.
        """
        return MessageProfile(self.handle.with_batch(messages))


def recorded_messages(manifest: Mapping[str, Any], where: str) -> RecordedMessages:
    """The message profile in the manifest of a run; `where` is the run's path for errors."""
    return RecordedMessages(_core.Messages.of_json(json.dumps(manifest.get("messages")), f"{where}: messages"))


def shipped_message_profiles() -> list[str]:
    """Names of the shipped message profiles."""
    return list(shipped.profile_files("messages"))


@refuses_wrong_types
def load_message_profile(
    name_or_file: str | Path, sets: Mapping[str, object] | Sequence[str] = ()
) -> MessageProfile:
    """Read a message profile by name or file.

    Args:
        name_or_file: Name or file.
        sets: Changes, as `{"core.fence_ns": 20}` or `["core.fence_ns=20"]`.

    Raises:
        InputError: The profile is missing or wrong; the message names the file and the key.
    """
    return MessageProfile(_core.Messages.read(str(name_or_file), parse_sets(sets), opened))
