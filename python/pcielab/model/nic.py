"""NICs described as data: TOML files, the shipped ones found by name.

The crate pcie-model owns what steps mean and which are possible; this module owns the files.
"""

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from pcielab import shipped
from pcielab.errors import InputError


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Step(_Table):
    """One access over PCIe; see `docs/guides/model-a-nic.md`."""

    what: str
    path: Literal["tx", "rx"]
    actor: Literal["host", "device"]
    kind: Literal["mmio-read", "mmio-write", "dma-read", "dma-write", "msi"]
    bytes: PositiveInt | Literal["packet"]
    every_packets: PositiveInt = 1
    batch: PositiveInt = 1


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
    return sorted(path.stem for path in _directory().glob("*.toml"))


def load_nic(name_or_file: str | Path) -> NicProfile:
    """Read a shipped NIC by name, or any by its file.

    Raises:
        InputError: no such NIC, or a file that is not one; names the file and the key.
    """
    path = Path(name_or_file)
    if path.suffix != ".toml":
        path = _directory() / f"{name_or_file}.toml"
        if str(name_or_file) not in shipped_nics():
            names = ", ".join(shipped_nics())
            raise InputError(f"NIC {str(name_or_file)!r} is unknown: give {names}, or a .toml file")
    try:
        return NicProfile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}): give a NIC's .toml file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not TOML: {error}") from error
    except ValidationError as error:
        raise InputError(f"{path}: {_first_problem(error)}") from error


def _directory() -> Path:
    return shipped.directory("profiles") / "nics"


def _first_problem(error: ValidationError) -> str:
    """The key, what is wrong with it, and what was given; steps are counted from 1."""
    problem = error.errors()[0]
    key = ".".join(str(part + 1 if isinstance(part, int) else part) for part in problem["loc"])
    match problem["type"]:
        case "extra_forbidden":
            return f"{key}: is no key of a NIC: remove it or correct its spelling"
        case "missing":
            return f"{key}: is missing: add it"
    return f"{key}: {problem['input']!r} is wrong: {problem['msg'].lower()}"
