"""Profiles of memory expanders behind CXL.mem. TOML files.

The compiled half reads and checks them (`crates/pcie-describe`); `pcielab.model.expander` computes peaks and
latencies from them (`crates/pcie-model`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.library import shipped
from pcielab.library.expander_parts import Expander
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.profiles.read import opened, parse_sets


class ExpanderProfile(Expander):
    """A file under `profiles/expanders`: memory behind CXL.mem."""

    compiled = _core.Expander
    word = "expander"

    title: str
    """One line for people."""

    @property
    def provenance(self) -> Provenance:
        """Sources of its values."""
        return Provenance(**self._content().get("provenance", {"source": ""}))


def shipped_expanders() -> list[str]:
    """Names of the shipped expanders."""
    return list(shipped.profile_files("expander"))


@refuses_wrong_types
def load_expander(name_or_file: str | Path, sets: Mapping[str, object] | Sequence[str] = ()) -> ExpanderProfile:
    """Read an expander by name or file.

    Args:
        name_or_file: Name or file.
        sets: Changes, as `{"memory.channels": 2}` or `["memory.channels=2"]`.

    Raises:
        InputError: The expander is missing or wrong; the message names the file and the key.
    """
    return ExpanderProfile(_core.Expander.read(str(name_or_file), parse_sets(sets), opened))
