"""Files of the user on pages: a system profile, a fabric, or a machine, given at the start or dropped on a page.

A machine (the output of lspci, a saved tree, an NCCL topology) becomes a fabric. Files given at the start may name
other files. Dropped ones come without their folder and may name shipped profiles only, so that no page makes the
server read a file. They stay in memory until the server ends.

What a page sends is a shape of Python alone, checked by pydantic.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from pcielab.doctor import machine_of_text
from pcielab.errors import InputError, refusal, with_message
from pcielab.expectations.memory import memory_of_tree
from pcielab.explore.fabrics import Fabrics
from pcielab.explore.question import Systems
from pcielab.fabric import fabric_of
from pcielab.library.input_files import parse_toml
from pcielab.library.profiles.files import PARTS
from pcielab.library.profiles.part import Part
from pcielab.library.validation import checked
from pcielab.wording import named

_SLOT = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_MACHINE = re.compile(rf"^[ \t>]*{_SLOT} \S|<system\b|^\s*\{{\s*\"format\": \"pcielab-tree", re.MULTILINE)
"""Texts that show a machine: a line of lspci, a topology of NCCL, a saved tree."""
_HEAD_LETTERS = 65_536
FILES_MOST = 100
"""Most dropped files that a server keeps."""
OwnKind: TypeAlias = Literal["system", "fabric"]


class File(Part):
    """A file that was dropped on a page."""

    file: Annotated[str, Field(min_length=1, max_length=200)]
    """Its name, without a folder."""
    text: str
    """Its content."""


@dataclass
class Dropped:
    """Takes the files that are dropped on pages.

    Attributes:
        systems: Takes systems.
        fabrics: Takes fabrics.
        names: Kinds and names of the files so far.
    """

    systems: Systems
    fabrics: Fabrics
    names: set[tuple[OwnKind, str]] = field(default_factory=set)

    def take(self, asked: Any) -> dict[str, str]:
        """Check a file and keep its content; its kind and name.

        Raises:
            InputError: It is neither a system nor a fabric, or is wrong.
        """
        file = checked(File, asked, "file")
        label = named(file.file)
        text = _text(file, label)
        content = _content(text, label)
        kind = kind_of(content, label)
        if len(self.names) >= FILES_MOST and (kind, str(content.get("name"))) not in self.names:
            raise refusal("too-large", f"{label}: the server has {FILES_MOST} files: start it again")
        try:
            name = self.systems.drop(label, file.text) if kind == "system" else self.fabrics.drop(label, text)
        except InputError as error:
            # A rule may name a shipped file that this one is based on.
            known = str(error).startswith(f"{label}: ")
            raise error if known else with_message(error, f"{label}: {error}") from None
        self.names.add((kind, name))
        return {"kind": kind, "name": name}


def _text(file: File, label: str) -> str:
    """The text of a TOML file, or of the fabric of a machine."""
    if not file.file.endswith(".toml"):
        if _MACHINE.search(file.text[:_HEAD_LETTERS]) is None:
            raise refusal(
                "malformed",
                f"{label}: is neither a TOML file (*.toml) nor a machine: drop a system profile, a fabric, or the "
                "output of `sudo lspci -vvv`; give stores to the command: pcielab explore RUN.db",
            )
        tree = machine_of_text(file.text, label)
        return fabric_of(tree, Path(file.file).stem, memory_of_tree(tree)).text
    return file.text


def _content(text: str, label: str) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except ValueError as error:
        raise refusal("malformed", f"{label}: not valid TOML: {error}") from None


def kind_of(content: Mapping[str, Any], label: str) -> OwnKind:
    """The kind of a file, from its keys.

    Raises:
        InputError: It is neither a system nor a fabric.
    """
    if "node" in content:
        return "fabric"
    if any(key in content for key in ("base", *PARTS)):
        return "system"
    raise refusal(
        "malformed",
        f"{label}: is neither a system nor a fabric: a system has the keys link, host and device, or base; a "
        "fabric has tables [[node]]",
    )
