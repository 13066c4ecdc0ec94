"""TOML files of the user on pages: a system profile or a fabric, given at the start or dropped on a page.

Files given at the start may name other files. Dropped ones come without their folder and may name shipped profiles
only, so that no page makes the server read a file. They stay in memory until the server ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from pcielab.errors import InputError, with_message
from pcielab.explore.fabrics import Fabrics
from pcielab.explore.question import Systems
from pcielab.library.input_files import parse_toml
from pcielab.library.profiles.files import PARTS
from pcielab.library.profiles.part import Part
from pcielab.library.validation import checked
from pcielab.wording import named

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
        if not file.file.endswith(".toml"):
            raise InputError(
                f"{label}: is no TOML file (*.toml): drop a system profile or a fabric; give stores to the "
                "command: pcielab explore RUN.db"
            )
        try:
            content = parse_toml(file.text)
        except ValueError as error:
            raise InputError(f"{label}: not valid TOML: {error}") from None
        kind = kind_of(content, label)
        if len(self.names) >= FILES_MOST and (kind, str(content.get("name"))) not in self.names:
            raise InputError(f"{label}: the server has {FILES_MOST} files: start it again")
        try:
            name = (self.systems if kind == "system" else self.fabrics).drop(label, content)
        except InputError as error:
            # A rule may name a shipped file that this one is based on.
            known = str(error).startswith(f"{label}: ")
            raise error if known else with_message(error, f"{label}: {error}") from None
        self.names.add((kind, name))
        return {"kind": kind, "name": name}


def kind_of(content: Mapping[str, Any], label: str) -> OwnKind:
    """The kind of a file, from its keys.

    Raises:
        InputError: It is neither a system nor a fabric.
    """
    if "node" in content:
        return "fabric"
    if any(key in content for key in ("base", *PARTS)):
        return "system"
    raise InputError(
        f"{label}: is neither a system nor a fabric: a system has the keys link, host and device, or base; a "
        "fabric has tables [[node]]"
    )
