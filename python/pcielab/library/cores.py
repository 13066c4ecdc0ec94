"""Profiles of cores and of BARs: what loads and stores to a device cost. TOML files.

The compiled half reads and checks them (`crates/pcie-describe`); `pcielab.model.mmio` computes times and rates
from them (`crates/pcie-model`). Where the name of a processor or device is all that is known, `core_for` and
`bar_for` choose the profile.
"""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.library import shipped
from pcielab.library.bar_parts import BarValues
from pcielab.library.core_parts import CoreValues
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.profiles.read import opened, parse_sets

PRESENT_DAY = {3: "skylake-2017", 4: "ice-lake-2021", 5: "sapphire-rapids-2023"}
"""The core that a link of each generation usually has in a server."""
_USUAL_BAR = "gpu"


class CoreProfile(CoreValues):
    """A file under `profiles/cores`: a core, with its host up to the link."""

    compiled = _core.Core
    word = "core"

    title: str
    """One line for people."""

    @property
    def provenance(self) -> Provenance:
        """Sources of its values."""
        return Provenance(**self._content().get("provenance", {"source": ""}))


class BarProfile(BarValues):
    """A file under `profiles/bars`: a device's memory behind a BAR."""

    compiled = _core.Bar
    word = "bar"

    title: str
    """One line for people."""

    @property
    def provenance(self) -> Provenance:
        """Sources of its values."""
        return Provenance(**self._content().get("provenance", {"source": ""}))


def shipped_cores() -> list[str]:
    """Names of the shipped cores."""
    return list(shipped.profile_files("core"))


def shipped_bars() -> list[str]:
    """Names of the shipped BARs."""
    return list(shipped.profile_files("bar"))


@refuses_wrong_types
def load_core(name_or_file: str | Path, sets: Mapping[str, object] | Sequence[str] = ()) -> CoreProfile:
    """Read a core by name or file.

    Args:
        name_or_file: Name or file.
        sets: Changes, as `{"stores.buffers.usual": 12}` or `["stores.buffers.usual=12"]`.

    Raises:
        InputError: The core is missing or wrong; the message names the file and the key.
    """
    return CoreProfile(_core.Core.read(str(name_or_file), parse_sets(sets), opened))


@refuses_wrong_types
def load_bar(name_or_file: str | Path, sets: Mapping[str, object] | Sequence[str] = ()) -> BarProfile:
    """Read a BAR by name or file.

    Args:
        name_or_file: Name or file.
        sets: Changes, as `{"reads.answer_ns.usual": 500}` or `["reads.answer_ns.usual=500"]`.

    Raises:
        InputError: The BAR is missing or wrong; the message names the file and the key.
    """
    return BarProfile(_core.Bar.read(str(name_or_file), parse_sets(sets), opened))


def core_for(processor: str | None, generation: int) -> str:
    """The shipped core of a processor's name; where that shows none, the usual one of a link's generation.

    >>> from pcielab.library.cores import core_for
    >>> core_for("Xeon Gold 6250 at 3.9 GHz", 3), core_for(None, 5)
    ('skylake-2017', 'sapphire-rapids-2023')
    """
    return _named(processor, _cores()) or PRESENT_DAY[min(max(generation, 3), 5)]


def bar_for(device: str | None) -> str:
    """The shipped BAR of a device's name; where that shows none, that of a GPU.

    >>> from pcielab.library.cores import bar_for
    >>> bar_for("Alveo U55C"), bar_for(None)
    ('fpga', 'gpu')
    """
    return _named(device, _bars()) or _USUAL_BAR


@cache
def _cores() -> dict[str, list[str]]:
    return {name: load_core(name).processors for name in shipped_cores()}


@cache
def _bars() -> dict[str, list[str]]:
    return {name: load_bar(name).devices for name in shipped_bars()}


def _named(text: str | None, patterns: Mapping[str, Iterable[str]]) -> str | None:
    """The profile whose longest pattern fits a text."""
    if not text:
        return None
    fits = [
        (len(pattern), name)
        for name, of_name in patterns.items()
        for pattern in of_name
        if fnmatchcase(text.lower(), pattern)
    ]
    return max(fits)[1] if fits else None
