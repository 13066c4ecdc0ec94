"""Sets every number of the pcie-bench paper's text beside ours, and writes `docs/reference/paper.md`.

The numbers stand in `paper_numbers.toml`, what ours are taken of in `paper_measures.py`. What is further off than
a row allows carries its reason.
"""

import argparse
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from paper_measures import Measures
from pcielab.library.quantities import parse_bytes

PAGE = Path("docs/reference/paper.md")
NUMBERS = Path(__file__).with_suffix(".toml")
HEAD = """\
# The paper's numbers

<!-- Written by bench/paper_numbers.py, with `make paper-numbers`. -->

Every number in the text of Neugebauer et al., *Understanding PCIe performance for end host networking*
(SIGCOMM 2018), beside ours. Numbers about links and NICs are modelled, under the paper's accounting
(`sigcomm18`). Numbers about machines are simulated, on the systems that go by the paper's names, which were
calibrated from 81 rows of each machine; those of `bdw-*` and `hsw2637` are predictions: no other row of them was
looked at. A row that is further off than it allows says why. `pcielab figure 1` to `9` makes the figures, and
`pcielab findings` table 2.
"""
TABLE_1 = """\
## Table 1: the machines

| in the paper | here | how it came about |
|---|---|---|
| NFP6000-BDW | `bdw-000` (`NFP6000-BDW`), and five more set-ups | predicted from 81 rows each |
| NetFPGA-HSW | `netfpga-hsw` (`NetFPGA-HSW`) | not calibrated: nothing of it was published |
| NFP6000-HSW | `hsw2637` (`NFP6000-HSW`), `hsw2637-nosp` | predicted from 81 rows each |
| NFP6000-HSW-E3 | `e3` (`NFP6000-HSW-E3`), `e3-nosp` | from 81 rows; not right yet, and so called uncalibrated |
| NFP6000-IB | `ib-000` (`NFP6000-IB`), and five more | calibrated from 81 rows, all rows looked at |
| NFP6000-SNB | `snb` (`NFP6000-SNB`), `snb-iommu` | calibrated from 81 rows, all rows looked at |
| (not in the table) | `hsw2620`, `hsw2620-iommu`, `hsw2620-nosp` | calibrated from 81 rows, all rows looked at |

In all, 21 runs were published: 12 were looked at as a whole; of 9 only 81 rows and one distribution were.
"""


class Number(BaseModel):
    """A number of the text.

    Attributes:
        section: Where it is.
        says: What the text says of it.
        published: Its value; where the text gives a range, both ends.
        unit: Of both.
        ours: The measure that finds ours, and what it is taken of.
        off: By how much ours may be off, in the unit, beyond the range.
        why: Where it is off by more: the reason.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    section: str
    says: str
    published: tuple[float, ...]
    unit: str
    ours: dict[str, Any]
    off: float
    why: str = ""

    def take(self, measures: Measures) -> float:
        """Ours."""
        given = {key: _bytes(value) if key.endswith("window") else value for key, value in self.ours.items()}
        return measures.take(**given)


def _bytes(text: str) -> int:
    return parse_bytes(text, "window")


def numbers() -> list[Number]:
    """Every number, in the order of the text."""
    return [Number.model_validate(one) for one in tomllib.loads(NUMBERS.read_text())["number"]]


def off_by(number: Number, ours: float) -> float:
    """How far ours is from what was published: 0 inside a range."""
    low, high = min(number.published), max(number.published)
    return ours - high if ours > high else ours - low if ours < low else 0.0


def lines(measures: Measures) -> Iterator[str]:
    """The table, and what it comes to."""
    yield "| section | the paper says | published | ours | off by | why |"
    yield "|---|---|---|---|---|---|"
    within = total = 0
    for number in numbers():
        ours = number.take(measures)
        off = off_by(number, ours)
        total += 1
        inside = abs(off) <= number.off
        within += inside
        published = " to ".join(f"{value:,g}" for value in number.published)
        why = "" if inside else number.why or "**not explained**"
        cells = [
            number.section,
            number.says,
            f"{published} {number.unit}",
            f"{ours:,.4g} {number.unit}",
            f"{off:+,.3g}",
            why,
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield f"{within} of {total} numbers are as close as their rows allow; the others say why they are not."


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("target/paper-numbers"), help="folder of the runs")
    parser.add_argument("--output", type=Path, default=PAGE, help="page to write")
    options = parser.parse_args()
    table = "\n".join(lines(Measures(options.runs)))
    options.output.write_text(f"{HEAD}\n{TABLE_1}\n## Numbers\n\n{table}\n")


if __name__ == "__main__":
    main()
