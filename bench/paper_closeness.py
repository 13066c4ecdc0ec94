"""How close simulations come to two papers: writes fabric-paper.md and kpio-paper.md in docs/reference."""

import math
import tempfile
from pathlib import Path

import pandas as pd

from pcielab import fabric, open_store, run
from pcielab.analysis.published_values import compare_with_published, score

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
VERDICTS = """`make closeness` writes this page; `pcielab suites validate RUN.db` prints the same table for any run
of the suite. A prediction is met if a latency or bandwidth is at most 5 % off, a share at most 3 points, beyond
the rounding of the published number.

| verdict | meaning |
|---|---|
| *within* | a prediction that is met |
| *explained* | a prediction that is missed, for the reason of the letter |
| *input* | the profile, or the suite, was given this number and gives it back: no prediction |
| *contradicted* | the paper contradicts it; the letter says by what |
| *not simulated* | nothing here says the same |
"""
FABRIC_HEAD = f"""# Every number of the rPCIeBench paper

Hou et al., *Understanding Routable PCIe Performance for Composable Infrastructures*, NSDI 2024, beside what
`pcielab fabric run fabrex-u55c --suite rpciebench` **simulates** and, for the flows of its table 2, what `max-min`
estimates. {VERDICTS}"""
MESSAGES_HEAD = f"""# Every number of the kPIO+WC paper

S. Larsen and B. Lee, *Reevaluation of Programmed I/O with Write-Combining Buffers to Improve I/O Performance on
Cluster Systems*, beside what `pcielab run --suite kpio` **simulates** and what `pcielab model pio` works out
(*estimated*).
{VERDICTS}"""


def main() -> None:
    """Run both suites and write the pages."""
    with tempfile.TemporaryDirectory() as folder:
        experiments, messages = Path(folder) / "experiments.db", Path(folder) / "messages.db"
        suite = fabric.load_fabric_suite("rpciebench")
        run(fabric.Flows(fabric.load("fabrex-u55c"), suite.points(), suite.name), output=experiments)
        run("kpio", profile="kpio-2012", output=messages)
        for path, name, head in (
            (experiments, "fabric-paper.md", FABRIC_HEAD),
            (messages, "kpio-paper.md", MESSAGES_HEAD),
        ):
            compared = compare_with_published(open_store(path))
            if compared is None:
                raise SystemExit(f"{name}: nothing is published of its suite")
            lost = section_4_4(compared) if path == experiments else []
            (PAGES / name).write_text(page(head, lost, compared), encoding="utf-8")
            print(compared["verdict"].value_counts().to_string())


def section_4_4(compared: pd.DataFrame) -> list[str]:
    """What is left of the conclusion that longer ways suffer more near saturation, way by way."""
    rises = compared[compared["what"].str.startswith(_RISES)].set_index("what")

    def rise(way: str, column: str) -> str:
        return f"{rises.loc[f'{_RISES}, {way}', column]:.0f} %"

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
    titles = ["where", "what", "paper", "simulated", "estimated", "error", "verdict"]
    table = ["| " + " | ".join(titles) + " |", "|---|---|--:|--:|--:|--:|---|", *rows]
    listed = [f"* {letter}: {reason}" for reason, letter in letters.items()]
    return "\n".join([head, score(compared), "", *more, "## Numbers", "", *table, "", *listed, ""])


def _row(row: dict[str, object], letters: dict[str, str]) -> str:
    unit = "" if row["unit"] == "1" else f" {row['unit']}"
    error = f"{_number(row['error'], '+.1f')} {row['of']}" if _number(row["error"]) else ""
    letter = letters.get(str(row["reason"]))
    verdict = f"{row['verdict']} ({letter})" if letter else str(row["verdict"])
    cells = [row["source"], row["what"], _number(row["published"]) + unit, _number(row["simulated"])]
    return "| " + " | ".join(map(str, [*cells, _number(row["estimated"]), error, verdict])) + " |"


def _number(value: object, how: str = ".5g") -> str:
    number = float(str(value))
    return "" if math.isnan(number) else format(number, how)


if __name__ == "__main__":
    main()
