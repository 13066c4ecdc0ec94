"""Our numbers for those in the text of the pcie-bench paper, by the measures in `measures.py`.

The paper's numbers are in `suites/published/pcie-bench.toml`; `pcielab.kinds.published` compares.
"""

import tempfile
from pathlib import Path

import pandas as pd

from pcielab._core import read_size
from pcielab.kinds.published import Published, PublishedValue, compare
from pcielab.library import shipped
from pcielab.library.validation import read_as
from pcielab.paper.measures import Measures, Modelled
from pcielab.paper.rows import Needed, Simulated
from pcielab.work.running import Progress, no_progress

MACHINES: dict[str, tuple[str, ...]] = {
    "NFP6000-BDW": ("bdw-000", "bdw-000-nosp", "bdw-001", "bdw-010", "bdw-011", "bdw-011-nosp"),
    "NetFPGA-HSW": ("netfpga-hsw",),
    "NFP6000-HSW": ("hsw2637", "hsw2637-nosp"),
    "NFP6000-HSW-E3": ("e3", "e3-nosp"),
    "NFP6000-IB": ("ib-000", "ib-000-iommu", "ib-000-nosp", "ib-011", "ib-011-iommu", "ib-011-nosp"),
    "NFP6000-SNB": ("snb", "snb-iommu"),
}
"""The machines of the paper's table 1, with the system profiles of each."""


def numbers(section: str | None = None) -> Published:
    """Every number, in the order of the text, or those of one section, like `6.2`."""
    known = read_as(Published, shipped.directory("suites") / "published" / "pcie-bench.toml")
    listed = [one for one in known.value if section is None or section in sections(one)]
    return known.model_copy(update={"value": listed})


def sections(one: PublishedValue) -> list[str]:
    """The sections of the text that have a number: `section 6, table 1` is of 6 and of table 1."""
    return one.source.removeprefix("sections ").removeprefix("section ").split(", ")


def systems(one: PublishedValue) -> set[str]:
    """The system profiles of our measure."""
    named = [(one.ours or {}).get(key, []) for key in ("system", "systems", "base", "other")]
    return {name for each in named for name in ([each] if isinstance(each, str) else each)}


def compare_numbers(
    known: Published, *, runs: Path | None = None, progress: Progress = no_progress
) -> pd.DataFrame:
    """Compare the paper's numbers with ours.

    Args:
        known: The numbers.
        runs: Folder of stores named SYSTEM-SUITE.db; missing tests are added. None: nothing is kept.
        progress: Called while tests run.

    Returns:
        As `pcielab.kinds.published.compare`; `estimated` is modelled.

    Raises:
        InputError: A store in the folder is of another run.
    """
    needed = Needed()
    compare(known, _Measured(Measures(needed)))
    if runs is not None:
        return compare(known, _Measured(Measures(Simulated(runs, needed, progress))))
    with tempfile.TemporaryDirectory(prefix="pcielab-paper-") as folder:
        return compare(known, _Measured(Measures(Simulated(Path(folder), needed, progress))))


class _Measured:
    """Our numbers, by their measures."""

    def __init__(self, measures: Measures) -> None:
        self._measures = measures

    def simulated(self, one: PublishedValue) -> float:
        return float("nan") if self._is_modelled(one) else self._take(one)

    def estimated(self, one: PublishedValue) -> float:
        return self._take(one) if self._is_modelled(one) else float("nan")

    def _is_modelled(self, one: PublishedValue) -> bool:
        return hasattr(Modelled, str((one.ours or {}).get("measure")))

    def _take(self, one: PublishedValue) -> float:
        given = {
            key: read_size(value, key) if key.endswith("window") else value
            for key, value in (one.ours or {}).items()
        }
        return self._measures.take(str(given.pop("measure")), **given)
