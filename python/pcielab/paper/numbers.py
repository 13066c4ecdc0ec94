"""Every number in the text of the pcie-bench paper beside ours, and how far apart they are.

The numbers stand in `suites/published/pcie-bench.toml`, what ours are taken of in `measures.py`. A number that a
profile was given is no prediction: it is shown, and not counted.
"""

import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import Field

from pcielab.library import shipped
from pcielab.library.profiles.part import Part
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.quantities import parse_bytes
from pcielab.library.validation import read_as
from pcielab.paper.measures import Measures
from pcielab.work.running import Progress, no_progress

Verdict: TypeAlias = Literal["within", "explained", "off", "input"]

MACHINES: dict[str, tuple[str, ...]] = {
    "NFP6000-BDW": ("bdw-000", "bdw-000-nosp", "bdw-001", "bdw-010", "bdw-011", "bdw-011-nosp"),
    "NetFPGA-HSW": ("netfpga-hsw",),
    "NFP6000-HSW": ("hsw2637", "hsw2637-nosp"),
    "NFP6000-HSW-E3": ("e3", "e3-nosp"),
    "NFP6000-IB": ("ib-000", "ib-000-iommu", "ib-000-nosp", "ib-011", "ib-011-iommu", "ib-011-nosp"),
    "NFP6000-SNB": ("snb", "snb-iommu"),
}
"""The machines of the paper's table 1, and the systems that are of each."""


class Number(Part):
    """A number of the text."""

    section: str
    """Where it is."""
    says: str
    """What the text says of it."""
    published: list[float] = Field(min_length=1, max_length=2)
    """Its value; where the text gives a range, both ends."""
    unit: str
    """Of both."""
    ours: dict[str, Any]
    """The measure that finds ours, and what it is taken of."""
    off: float = Field(ge=0)
    """By how much ours may be off, in the unit, beyond the range."""
    why: str = ""
    """Where it is off by more: the reason."""
    given: bool = False
    """Whether a profile has this number as its input, so that meeting it proves nothing."""

    @property
    def systems(self) -> set[str]:
        """The systems that ours is taken of."""
        named = [self.ours.get(key, []) for key in ("system", "systems", "base", "other")]
        return {name for one in named for name in ([one] if isinstance(one, str) else one)}

    def take(self, measures: Measures) -> float:
        """Ours."""
        given = {
            key: parse_bytes(value, key) if key.endswith("window") else value for key, value in self.ours.items()
        }
        return measures.take(str(given.pop("measure")), **given)


class Numbers(Part):
    """The file of the numbers."""

    provenance: Provenance
    """The paper."""
    number: list[Number] = Field(min_length=1)
    """The numbers, in the order of the text."""


_REST: dict[Verdict, str] = {
    "explained": "say why they are not",
    "off": "are off without a reason",
    "input": "numbers are inputs of a profile and are not counted",
}


@dataclass(frozen=True)
class Compared:
    """A number of the paper beside ours.

    Attributes:
        number: What the paper says.
        ours: Ours, in its unit.
        off_by: How far ours is from it; 0 inside a range.
        verdict: `within` what its row allows, `explained`, `off`, or `input`: a profile was given it, and gives it
            back.
    """

    number: Number
    ours: float
    off_by: float
    verdict: Verdict

    @property
    def why(self) -> str:
        """Why ours is off, where it is."""
        return self.number.why if self.verdict == "explained" else ""


def numbers(section: str | None = None) -> list[Number]:
    """Every number, in the order of the text, or those of one section, such as `6.2`."""
    listed = read_as(Numbers, shipped.directory("suites") / "published" / "pcie-bench.toml").number
    return [one for one in listed if section is None or section in one.section.split(", ")]


def compare(
    listed: Sequence[Number], *, runs: Path | None = None, progress: Progress = no_progress
) -> list[Compared]:
    """Set numbers beside ours; tests are run as far as they lack.

    Args:
        listed: The numbers.
        runs: Folder of stores named SYSTEM-SUITE.db: those that are there are used, the others written. Without
            it, nothing is kept.
        progress: Called while tests run.

    Raises:
        InputError: A store in the folder is of another run.
    """
    if runs is not None:
        return _compared(listed, Measures(runs, progress))
    with tempfile.TemporaryDirectory(prefix="pcielab-paper-") as folder:
        return _compared(listed, Measures(Path(folder), progress))


def _compared(listed: Sequence[Number], measures: Measures) -> list[Compared]:
    found = []
    for number in listed:
        ours = number.take(measures)
        off_by = _off_by(number, ours)
        found.append(Compared(number, ours, off_by, _verdict(number, off_by)))
    return found


def _off_by(number: Number, ours: float) -> float:
    low, high = min(number.published), max(number.published)
    return ours - high if ours > high else ours - low if ours < low else 0.0


def _verdict(number: Number, off_by: float) -> Verdict:
    if abs(off_by) <= number.off:
        return "input" if number.given else "within"
    return "explained" if number.why else "off"


def score(found: Iterable[Compared]) -> str:
    """How many predictions are as close as their rows allow, in a sentence."""
    counted = Counter(one.verdict for one in found)
    predictions = sum(count for verdict, count in counted.items() if verdict != "input")
    sentence = f"{counted['within']} of {predictions} predictions are as close as their rows allow"
    rest = [f"{counted[verdict]} {words}" for verdict, words in _REST.items() if counted[verdict]]
    return "; ".join([sentence, *rest])
