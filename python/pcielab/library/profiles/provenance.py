"""Sources of the values of a profile."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from pcielab.library.profiles.part import Part

FittedTo: TypeAlias = Literal["measured", "simulated", "rtl", "modelled"]
"""Origins of rows that values can be fitted to. Emulated times mean nothing."""


class Provenance(Part):
    """Sources of the values of a file."""

    source: str = Field(min_length=1)
    """Documents, files or measurements that the values were taken from."""
    notes: str = ""
    """Further notes, for example which values are assumptions."""
    experimental: str = ""
    """Why a system is experimental, in one sentence: its machine was measured, but the description is not good
    enough to be called calibrated. Lists show it apart. Absent for all others."""
    origin: FittedTo = "measured"
    """Origin of the rows that the values were fitted to, if they were. Only measured rows calibrate a system."""
    fitted: dict[str, Annotated[list[float], Field(min_length=2, max_length=2)]] = Field(default={})
    """Ranges of keys of this file (dotted), that measurements cover; answers outside are marked."""
    keys: dict[str, str] = Field(default={})
    """Notes on single keys of this file (dotted); the note of a table holds for all its keys."""

    def of(self, key: str) -> str:
        """The note on a dotted key, or on the innermost table around it that has one."""
        while key:
            if key in self.keys:
                return self.keys[key]
            key = key.rpartition(".")[0]
        return ""
