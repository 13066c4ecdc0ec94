"""The pages of the papers' numbers: paper.md, fabric-paper.md and kpio-paper.md in docs/reference.

They are no part of `make generate`, because they need runs: `make paper-numbers` writes them. Tests that make
these runs anyway compare each page, character by character.
"""

import argparse
import math
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pcielab import RunOptions, Store, fabric, run
from pcielab.kinds.beside_published import compare_with_published
from pcielab.kinds.published import FlowSelection, published_values, score
from pcielab.paper import compare_numbers, numbers

LOST = """## Section 4.4: a conclusion that is lost

The paper concludes that latency near saturation rises more on longer ways, because credits take longer to come
back. Rises of 64 B requests at 80 to 90 % of the bandwidth:

| short and long way | paper | simulated |
|---|---|---|"""
WHY_LOST = """
For H2D the simulated rise hardly depends on the way, and for D2H it is smaller on the long one: here latency rises
in the queue of the DMA engine, which is the same for both. Between devices the order is kept, at other heights. Do
not use the simulator to compare local with remote latency near saturation.
"""
_RISES = "64 B at 80 to 90 % of the bandwidth"
_WAYS = (
    ("H2D, local and remote", "H2D, local", "H2D, remote"),
    ("D2H, local and remote", "D2H, local", "D2H, remote"),
    ("D2D read, within and across", "D2D read, within", "D2D read, across"),
    ("D2D write, within and across", "D2D write, within", "D2D write, across"),
)
PAGES = Path(__file__).parents[1] / "docs" / "reference"
VERDICTS = """`make paper-numbers` writes
this page. A number is met if the error is at most the allowed one: by default 5 % of a latency or bandwidth, 3
points of a share, beyond the rounding of the published number. A bound ("at least", "at most") holds or does not:
it has no allowance.

| verdict | meaning |
|---|---|
| *within* | a met prediction |
| *explained* | a missed prediction; the letter gives the reason |
| *input* | the profile or the suite contains this number: no prediction |
| *contradicted* | the paper contradicts it; the letter gives the passage |
| *not simulated* | no simulated value corresponds to it |
"""
FABRIC_HEAD = f"""# Every number of the rPCIeBench paper

Hou et al., *Understanding Routable PCIe Performance for Composable Infrastructures*, NSDI 2024, beside
**simulated** numbers of `pcielab fabric run fabrex-u55c --suite rpciebench` and, for the flows of table 2,
estimates of `max-min`. Where the paper gives the delay of one part, *estimated* is that parameter of the fabric.
`pcielab paper numbers RUN.db` prints this table for any run of the suite. {VERDICTS}"""
MESSAGES_HEAD = f"""# Every number of the kPIO+WC paper

S. Larsen and B. Lee, *Reevaluation of Programmed I/O with Write-Combining Buffers to Improve I/O Performance on
Cluster Systems*, beside **simulated** numbers of `pcielab run --suite kpio` and closed forms of `pcielab model
pio` (*estimated*). `pcielab paper numbers RUN.db` prints the same table for any run of the suite. {VERDICTS}"""
BENCH_HEAD = f"""# Every number in the text of the pcie-bench paper

Neugebauer et al., *Understanding PCIe performance for end host networking*, SIGCOMM 2018, beside the output of
`pcielab paper numbers`. Numbers about links and NICs are modelled under the paper's accounting (`sigcomm18`) and
shown as *estimated*. Numbers about machines are **simulated** on the systems of table 1 below. Each of them but
the *experimental* `e3` is calibrated from 81 rows of its machine. Those of `bdw-*` and `hsw2637` are predictions:
no other row of these machines was used. `pcielab paper figure 1` to `9` draws the figures, `pcielab paper
findings` makes table 2. {VERDICTS}
## Table 1: the machines

| in the paper | here | origin |
|---|---|---|
| NFP6000-BDW | `bdw-000` (`NFP6000-BDW`), and five more set-ups | predicted from 81 rows each |
| NetFPGA-HSW | `netfpga-hsw` (`NetFPGA-HSW`) | the host of `hsw2637`; nothing is published about the card |
| NFP6000-HSW | `hsw2637` (`NFP6000-HSW`), `hsw2637-nosp` | predicted from 81 rows each |
| NFP6000-HSW-E3 | `e3` (`NFP6000-HSW-E3`), `e3-nosp` | *experimental*: card-bound reads are too fast |
| NFP6000-IB | `ib-000` (`NFP6000-IB`), and five more | calibrated from 81 rows, others known |
| NFP6000-SNB | `snb` (`NFP6000-SNB`), `snb-iommu` | calibrated from 81 rows, others known |
| (not in the table) | `hsw2620`, `hsw2620-iommu`, `hsw2620-nosp` | calibrated from 81 rows, others known |

Of the 21 published runs, 12 were known whole during development; of the other 9, 81 rows and one distribution.

**Label and data of NFP6000-HSW seem to differ.** Section 6.2 gives 520 ns (minimum) and 547 ns (median) for 64 B
reads of this machine. The data published as `hsw-Xeon-E5-2637v3` have 546.7 and 600 ns; those published as
`hsw-Xeon-E5-2620v3`, which table 1 does not list, have 520 and 546.7 ns.

**512 B writes in figure 9 are 2.5 % faster with the IOMMU**, because each set-up is calibrated from its own
published run. The IOMMU does not speed them up. The published runs of `bdw-000` and `bdw-000-nosp` differ in
the same way: 512, 1,024 and 2,048 B writes reach 53.01 Gb/s without the IOMMU and 54.38 with it, and 256 B
writes 50.49 in both. So do `bdw-011` and `hsw2620`; `snb`, `ib-*` and `hsw2637` reach 54.4 Gb/s both ways.
"""


def main() -> None:
    """Run what the papers need, and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("target/paper-numbers"), help="folder of the runs")
    runs = parser.parse_args().runs
    write("paper.md", pcie_bench_page(compare_numbers(numbers(), runs=runs)))
    experiments = run(published_flows(), output=runs / "experiments.db", options=RunOptions(overwrite=True))
    write("fabric-paper.md", fabric_page(compared_run(experiments)))
    sent = run("kpio", profile="kpio-2012", output=runs / "messages.db", options=RunOptions(overwrite=True))
    write("kpio-paper.md", messages_page(compared_run(sent)))


def published_flows() -> fabric.Flows:
    """The experiments of the suite `rpciebench` that have a published number, on their fabric."""
    suite, known = fabric.load_fabric_suite("rpciebench"), published_values("rpciebench")
    assert known is not None
    selections = [selection for one in known.value for selection in (*one.of, *filter(None, [one.over]))]
    wanted = [selection for selection in selections if isinstance(selection, FlowSelection)]
    points = [point for point in suite.points() if any(_is_of(point, selection) for selection in wanted)]
    return fabric.Flows(fabric.load(suite.fabric), points, suite.name)


def _is_of(point: fabric.Point, selection: FlowSelection) -> bool:
    return (
        selection.family == point.experiment.family
        and selection.series in (None, point.experiment.series)
        and (selection.value is None or point.value in np.atleast_1d(selection.value))
    )


def compared_run(store: Store) -> pd.DataFrame:
    """The numbers of the paper of a run's suite."""
    compared = compare_with_published(store)
    if compared is None:
        raise SystemExit(f"{store.path}: its suite has no published values")
    return compared


def write(name: str, content: str) -> None:
    """Write a page of the reference."""
    (PAGES / name).write_text(content, encoding="utf-8")
    print(f"{name}: written")


def pcie_bench_page(compared: pd.DataFrame) -> str:
    """The page of the pcie-bench paper: `compared` is a result of `compare_numbers`."""
    return page(BENCH_HEAD, [], compared)


def fabric_page(compared: pd.DataFrame) -> str:
    """The page of the rPCIeBench paper: `compared` is of a run of `published_flows`."""
    return page(FABRIC_HEAD, section_4_4(compared), compared)


def messages_page(compared: pd.DataFrame) -> str:
    """The page of the kPIO+WC paper: `compared` is of a run of the suite `kpio`."""
    return page(MESSAGES_HEAD, [], compared)


def section_4_4(compared: pd.DataFrame) -> list[str]:
    """The section on the conclusion that longer paths suffer more near saturation, path by path."""
    rises = compared[compared["what"].str.startswith(_RISES)].set_index("what")

    def rise(way: str, column: str) -> str:
        return f"{_number(rises.loc[f'{_RISES}, {way}', column], '.0f')} %"

    lines = [LOST]
    for name, short, long in _WAYS:
        cells = [f"{rise(short, column)}, {rise(long, column)}" for column in ("published", "simulated")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, WHY_LOST]


def page(head: str, more: list[str], compared: pd.DataFrame) -> str:
    """The page, with a letter for each reason."""
    reasons = list(dict.fromkeys(compared["reason"].dropna()))
    letters = {reason: chr(ord("a") + number) for number, reason in enumerate(reasons)}
    rows = [_row(row, letters) for row in compared.to_dict("records")]
    titles = ["where", "what", "paper", "simulated", "estimated", "error", "allowed", "verdict"]
    table = ["| " + " | ".join(titles) + " |", "|---|---|--:|--:|--:|--:|--:|---|", *rows]
    listed = [f"* {letter}: {reason}" for reason, letter in letters.items()]
    return "\n".join([head, score(compared), "", *more, "## Numbers", "", *table, "", *listed, ""])


def _row(row: dict[Hashable, Any], letters: dict[str, str]) -> str:
    unit = "" if row["unit"] == "1" else f" {row['unit']}"
    of = "" if row["error_unit"] == "1" else f" {row['error_unit']}"
    letter = letters.get(str(row["reason"]))
    verdict = f"{row['verdict']} ({letter})" if letter else str(row["verdict"])
    published = " to ".join(filter(None, (_number(row["published"]), _number(row["up_to"]))))
    error = _number(row["error"], "+.3g")
    allowed = f"{_number(row['allowed'], '.3g')}{of}" if error else ""
    cells = [row["source"], row["what"], published + unit, _number(row["simulated"]), _number(row["estimated"])]
    return "| " + " | ".join(map(str, [*cells, f"{error}{of}" if error else "", allowed, verdict])) + " |"


def _number(value: object, how: str = ".5g") -> str:
    number = float(str(value))
    return "" if math.isnan(number) else format(number, how)


if __name__ == "__main__":
    main()
