"""Profiles of DMA engines that work on commands: drives, copy engines of GPUs, FPGA shells. TOML files.

A profile lists the PCIe accesses of a command in the language of NICs: doorbell, descriptors, data, completion.
The compiled half reads and checks it (`crates/pcie-describe`); `pcielab.model.engine` computes rates from it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.library import shipped
from pcielab.library.engine_parts import Engine
from pcielab.library.link import Link
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.profiles.read import opened, parse_sets


class EngineProfile(Engine):
    """A file under `profiles/engines`: an engine that works on commands."""

    compiled = _core.Engine
    word = "engine"

    title: str
    """One line for people."""

    @property
    def provenance(self) -> Provenance:
        """Sources of its values."""
        return Provenance(**self._content().get("provenance", {"source": ""}))

    @property
    def usual_link(self) -> Link:
        """The link that it usually has."""
        return Link(**self.link.dump())


def shipped_engines() -> list[str]:
    """Names of the shipped engines."""
    return list(shipped.profile_files("engine"))


@refuses_wrong_types
def load_engine(name_or_file: str | Path, sets: Mapping[str, object] | Sequence[str] = ()) -> EngineProfile:
    """Read an engine by name or file.

    Args:
        name_or_file: Name or file.
        sets: Changes, as `{"queue.depth": 64}` or `["queue.depth=64"]`.

    Raises:
        InputError: The engine is missing or wrong; the message names the file and the key.
    """
    return EngineProfile(_core.Engine.read(str(name_or_file), parse_sets(sets), opened))
