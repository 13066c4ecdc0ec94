"""Writes `docs/reference/paper.md`: the pcie-bench paper's numbers beside ours, as `pcielab paper numbers`."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from pcielab.paper import Compared, compare, numbers, score

PAGE = Path("docs/reference/paper.md")
HEAD = """\
# The paper's numbers

<!-- Written by bench/paper_numbers.py, with `make paper-numbers`. -->

Every number in the text of Neugebauer et al., *Understanding PCIe performance for end host networking*
(SIGCOMM 2018), beside ours, as `pcielab paper numbers` prints them. Numbers about links and NICs are modelled,
under the paper's accounting (`sigcomm18`). Numbers about machines are simulated on the systems that table 1 below
names, each but the *experimental* `e3` calibrated from 81 rows of its machine. Those of `bdw-*` and `hsw2637` are
predictions: no other row of these machines was used.

*allowed* is how far ours may be off, in the row's unit; a row that is further off says why. *input* marks a number
that a profile was given, so that meeting it proves nothing: the score leaves it out.

`pcielab figure 1` to `9` makes the figures, and `pcielab findings` table 2.
"""
TABLE_1 = """\
## Table 1: the machines

| in the paper | here | how it came about |
|---|---|---|
| NFP6000-BDW | `bdw-000` (`NFP6000-BDW`), and five more set-ups | predicted from 81 rows each |
| NetFPGA-HSW | `netfpga-hsw` (`NetFPGA-HSW`) | the host of `hsw2637`; of the card nothing was published |
| NFP6000-HSW | `hsw2637` (`NFP6000-HSW`), `hsw2637-nosp` | predicted from 81 rows each |
| NFP6000-HSW-E3 | `e3` (`NFP6000-HSW-E3`), `e3-nosp` | *experimental*: reads its card limits come out too fast |
| NFP6000-IB | `ib-000` (`NFP6000-IB`), and five more | calibrated from 81 rows, all rows looked at |
| NFP6000-SNB | `snb` (`NFP6000-SNB`), `snb-iommu` | calibrated from 81 rows, all rows looked at |
| (not in the table) | `hsw2620`, `hsw2620-iommu`, `hsw2620-nosp` | calibrated from 81 rows, all rows looked at |

In all, 21 runs were published: 12 were looked at as a whole; of 9 only 81 rows and one distribution were.

**Label and data of NFP6000-HSW seem to differ.** Section 6.2 gives 520 ns (minimum) and 547 ns (median) for 64 B
reads of this machine. The data published as `hsw-Xeon-E5-2637v3` have 546.7 and 600 ns; those published as
`hsw-Xeon-E5-2620v3`, which table 1 does not list, have 520 and 546.7 ns.

**512 B writes in figure 9 are 2.5 % faster with the IOMMU**, because each set-up is calibrated from its own
published run. The IOMMU does not speed them up. The published runs of `bdw-000` and `bdw-000-nosp` differ in
the same way: 512, 1,024 and 2,048 B writes reach 53.01 Gb/s without the IOMMU and 54.38 with it, and 256 B
writes 50.49 in both. So do `bdw-011` and `hsw2620`; `snb`, `ib-*` and `hsw2637` reach 54.4 Gb/s both ways.
"""


def lines(found: list[Compared]) -> Iterator[str]:
    """The table, and what it comes to."""
    yield "| section | the paper says | published | ours | off by | allowed | verdict | why |"
    yield "|---|---|---|---|---|---|---|---|"
    for one in found:
        number = one.number
        published = " to ".join(f"{value:,g}" for value in number.published)
        cells = [
            number.section,
            number.says,
            f"{published} {number.unit}",
            f"{one.ours:,.4g} {number.unit}",
            f"{one.off_by:+,.3g}",
            f"{number.off:,g}",
            one.verdict,
            one.why,
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield f"{score(found)}."


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("target/paper-numbers"), help="folder of the runs")
    parser.add_argument("--output", type=Path, default=PAGE, help="page to write")
    options = parser.parse_args()
    table = "\n".join(lines(compare(numbers(), runs=options.runs)))
    options.output.write_text(f"{HEAD}\n{TABLE_1}\n## Numbers\n\n{table}\n")


if __name__ == "__main__":
    main()
