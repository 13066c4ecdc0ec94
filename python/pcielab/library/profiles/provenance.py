"""Where the values of a profile come from."""

from pydantic import Field

from pcielab.library.profiles.part import Part


class Provenance(Part):
    """Where the values of a file come from."""

    source: str = Field(min_length=1)
    """Documents, files or measurements that the values were taken from."""
    notes: str = ""
    """What else a reader should know, such as which values are assumptions."""
    experimental: str = ""
    """Why a system is experimental, in one sentence: its machine was measured, and is not described well enough to
    call it calibrated. Lists show it apart. Absent for all others."""
    keys: dict[str, str] = Field(default={})
    """What holds for single keys of this file (dotted) and, where a key is a table, for everything in it."""

    def of(self, key: str) -> str:
        """What is known of a dotted key: its own note, or that of the innermost table around it that has one."""
        while key:
            if key in self.keys:
                return self.keys[key]
            key = key.rpartition(".")[0]
        return ""
