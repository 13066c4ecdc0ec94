"""NICs described as data: TOML files, the shipped ones found by name.

The crate pcie-model owns what steps mean and which are possible; this module owns the files.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from pcielab import _core, shipped
from pcielab.errors import InputError
from pcielab.input_files import given_path, read_toml
from pcielab.validation import explain
from pcielab.wording import shown

_Count = Annotated[int, Field(ge=1, le=1_000_000)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Step(_Table):
    """One access over PCIe; see `docs/guides/model-a-nic.md`."""

    what: str
    path: Literal["tx", "rx"]
    actor: Literal["host", "device"]
    kind: Literal["mmio-read", "mmio-write", "dma-read", "dma-write", "msi"]
    bytes: int | Literal["packet"]
    every_packets: _Count = 1
    batch: _Count = 1

    @field_validator("bytes", mode="before")
    @classmethod
    def _number_or_packet(cls, given: object) -> object:
        if given == "packet" or (type(given) is int and given > 0):
            return given
        raise ValueError(f'{shown(given)} is no size: give a number above 0, or "packet"')


class NicProfile(_Table):
    """A NIC: what it and its driver do over PCIe for each packet."""

    name: str
    description: str
    provenance: str
    step: list[Step] = Field(min_length=1)

    def as_question(self) -> dict[str, Any]:
        """The profile as the compiled half takes it."""
        return self.model_dump(mode="json")


def shipped_nics() -> list[str]:
    """Names that `load_nic` knows."""
    return list(shipped.profile_files("nic"))


def load_nic(name_or_file: str | Path) -> NicProfile:
    """Read a shipped NIC by name, or any by its file.

    Raises:
        InputError: no such NIC, or a file that is not one; names the file and the key.
    """
    path = given_path(str(name_or_file))
    if path.suffix != ".toml":
        found = shipped.profile_files("nic").get(str(name_or_file))
        if found is None:
            names = ", ".join(shipped_nics())
            raise InputError(f"NIC {shown(str(name_or_file))} is unknown: give {names}, or a .toml file")
        path = found
    content = read_toml(path)
    try:
        profile = NicProfile.model_validate(content)
        _core.model_check_nic(json.dumps(profile.as_question()))
    except ValidationError as error:
        raise explain(error, NicProfile, str(path)) from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return profile
