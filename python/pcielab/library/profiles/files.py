"""The models of profile files, one per kind, also for the JSON Schema.

A file has a name, a title and a provenance. It may start from another one of its kind (`base`) and have only the
differences. A system names its link, host and device, or holds them as tables.
"""

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, Field

from pcielab.library import validation
from pcielab.library.profiles.part import Name, Part, Title
from pcielab.library.profiles.parts import Card, Host, Link, Placement
from pcielab.library.profiles.provenance import Provenance

Kind: TypeAlias = Literal["system", "host", "device", "link"]
KINDS: tuple[Kind, ...] = ("system", "host", "device", "link")


class Document(Part):
    """Keys of every file."""

    title: Title
    """One line for people."""
    provenance: Provenance
    """Source of the values."""
    base: str | None = None
    """Another file of the same kind, by name or path, that gives the values that this one lacks."""


class LinkFile(Document, Link):
    """A file under `profiles/links`."""

    name: Name
    """Short name."""


class HostFile(Document, Host):
    """A file under `profiles/hosts`."""


class CardFile(Document, Card):
    """A file under `profiles/devices`."""


class SystemFile(Document, Placement):
    """A file under `profiles/systems`."""

    aliases: list[str] = Field(default=[])
    """Other names of a shipped system, for example the paper's, in upper or lower case."""
    link: str | dict[str, Any]
    """The link: the name of a shipped one, a path relative to this file, or a table with its keys and, if it
    starts from another one, `base`."""
    host: str | dict[str, Any]
    """The host, likewise."""
    device: str | dict[str, Any]
    """The device, likewise."""
    set_: dict[str, Any] = Field(default={}, alias="set")
    """Changes to single values, by dotted key, applied after merging, as by `--set`."""


FILE_MODELS: dict[Kind, type[Document]] = {
    "system": SystemFile,
    "host": HostFile,
    "device": CardFile,
    "link": LinkFile,
}
PARTS: dict[Kind, type[BaseModel]] = {"link": Link, "host": Host, "device": Card}


def json_schema(kind: Kind) -> dict[str, Any]:
    """The JSON Schema of a kind of file, for editors and generators."""
    return validation.json_schema(FILE_MODELS[kind])
