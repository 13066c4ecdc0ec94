"""Read the distributions of the `_details` families, from the first form of the `_cdf` file that exists.

The `.csv` form has full precision and no names; the others name each section and round to eight decimals, which is
enough to recover every count of 16,777,216 samples.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pcielab.errors import refusal
from pcielab.formats.importers.pcie_bench.rows import MOST_NUMBER
from pcielab.formats.importers.pcie_bench.text import read_text
from pcielab.formats.published import CACHE_STATES, CDF_HEAD, Timer
from pcielab.wording import shown

FORMS = (".csv", ".dat", ".txt")
LABEL = re.compile(
    r"#?test=(?P<test>\S+) trans_sz=(?P<size>\d+) win_sz=(?P<window>\d+)(\.0)? cache=(?P<cache>\S+)"
)
_FILLED = re.compile(r"\s*NaN\s+NaN\s+NaN\s*", re.MULTILINE)
"""The line of a section that an exporter filled because the store lacked its distribution."""


@dataclass
class Section:
    """The distribution of one test: rising cycles, and the share of samples up to each."""

    line: int
    label: str | None
    cycles: list[int] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)


def add_distributions(directory: Path, family: str, records: list[dict[str, Any]], timer: Timer) -> None:
    """Give each record of a details family its distribution, if the directory has them.

    Sections and rows are in the same order; names of sections are checked.

    Raises:
        InputError: A section is damaged, or there are not as many sections as rows.
    """
    path = next((path for form in FORMS if (path := directory / f"{family}_cdf{form}").exists()), None)
    if path is None:
        return
    sections = sections_of(path)
    if not sections and _FILLED.search(read_text(path)):
        return
    if len(sections) != len(records):
        raise refusal(
            "damaged",
            f"{path}: {len(sections)} distributions where {family}.csv has {len(records)} rows: the file is "
            "truncated, or belongs to another run; copy both again",
        )
    for section, record in zip(sections, records, strict=True):
        if section.label not in (None, _label(record)):
            raise refusal(
                "malformed",
                f"{path}, line {section.line}: the section is {shown(section.label)}: {family}.csv has "
                f"{_label(record)!r} here",
            )
        samples = next(round(scalar["value"]) for scalar in record["scalars"] if scalar["metric"] == "samples")
        record["distributions"] = [
            {"metric": "latency", "tick": str(timer.tick_ns), "bins": _bins(path, section, samples, timer)}
        ]


def _label(record: dict[str, Any]) -> str:
    parameters = record["parameters"]
    cache = next(word for word, state in CACHE_STATES.items() if state == parameters["cache"]).lower()
    size, window = parameters["size_bytes"], parameters["window_bytes"]
    return f"test={record['name']} trans_sz={size} win_sz={window} cache={cache}"


def sections_of(path: Path) -> list[Section]:
    """The distributions of a `_cdf` file, in order. A section begins where the share is 0."""
    separator = "," if path.suffix == ".csv" else None
    lines = read_text(path).splitlines()
    if lines[0].lstrip("#").replace(",", " ").split() != list(CDF_HEAD):
        raise refusal(
            "malformed",
            f"{path}, line 1: the columns are {shown(lines[0])}: a _cdf file has {','.join(CDF_HEAD)!r}",
        )
    sections: list[Section] = []
    label = None
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        if found := LABEL.fullmatch(line.strip()):
            label = "test={test} trans_sz={size} win_sz={window} cache={cache}".format(**found.groupdict())
            continue
        try:
            cycles, _, share = line.split(separator)
            point = (int(float(cycles)), float(share))
        except (ValueError, OverflowError):
            point = (-1, 0.0)
        if _FILLED.fullmatch(line):
            label = None
            continue
        if not (0 <= point[0] <= MOST_NUMBER and 0 <= point[1] <= 1):
            raise refusal(
                "damaged",
                f"{path}, line {number}: {shown(line.strip())}: give three numbers (cycles, ns, cdf from 0 "
                "to 1); the file is truncated or damaged",
            )
        if point[1] == 0:
            sections.append(Section(number, label))
            label = None
        if not sections:
            raise refusal("malformed", f"{path}, line {number}: the cdf starts at {share}: it must start at 0")
        sections[-1].cycles.append(point[0])
        sections[-1].shares.append(point[1])
    return sections


def _bins(path: Path, section: Section, samples: int, timer: Timer) -> list[tuple[int, int]]:
    """Counts per tick: differences of the share, times the number of samples."""
    bins = []
    below = 0
    for offset, (cycles, share) in enumerate(zip(section.cycles, section.shares, strict=True)):
        upto = round(share * samples)
        ticks, rest = divmod(cycles, timer.cycles)
        if rest or upto < below:
            raise refusal(
                "malformed",
                f"{path}, line {section.line + offset}: "
                + (f"{cycles} cycles: give a multiple of {timer.cycles}" if rest else f"the cdf falls to {share}"),
            )
        if upto > below:
            bins.append((ticks, upto - below))
        below = upto
    if below != samples:
        raise refusal(
            "damaged",
            f"{path}, line {section.line + len(section.cycles) - 1}: the distribution ends at cdf "
            f"{section.shares[-1]}: it must reach 1; the file is truncated or damaged",
        )
    return bins
