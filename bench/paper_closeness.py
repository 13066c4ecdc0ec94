"""How close simulations come to two papers: writes fabric-paper.md and kpio-paper.md in docs/reference."""

import math
import tempfile
from pathlib import Path

import pandas as pd

from pcielab import fabric, open_store
from pcielab.analysis.published_values import compare_with_published
from pcielab.library.suites import load_message_suite
from pcielab.model import load_message_profile
from pcielab.run.simulation import simulate_messages

PAGES = Path(__file__).parents[1] / "docs" / "reference"
VERDICTS = """`make closeness` writes this page. A latency or bandwidth is *within* if it is at most 5 % off,
a share if it is at most 3 points off, rounding of the published number allowed for; otherwise the letter says why.
The same table comes from any run of the suite: `pcielab suites validate RUN.db`.
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
        fabric.run(fabric.load("fabrex-u55c"), suite.points(), experiments, suite=suite.name)
        simulate_messages(load_message_profile("kpio-2012"), load_message_suite("kpio"), messages)
        for path, name, head in (
            (experiments, "fabric-paper.md", FABRIC_HEAD),
            (messages, "kpio-paper.md", MESSAGES_HEAD),
        ):
            compared = compare_with_published(open_store(path))
            if compared is None:
                raise SystemExit(f"{name}: nothing is published of its suite")
            (PAGES / name).write_text(page(head, compared), encoding="utf-8")
            print(compared["verdict"].value_counts().to_string())


def page(head: str, compared: pd.DataFrame) -> str:
    """The page, with a letter for each reason."""
    reasons = list(dict.fromkeys(compared["reason"].dropna()))
    letters = {reason: chr(ord("a") + number) for number, reason in enumerate(reasons)}
    rows = [_row(row, letters) for row in compared.to_dict("records")]
    titles = ["where", "what", "paper", "simulated", "estimated", "error", ""]
    table = ["| " + " | ".join(titles) + " |", "|---|---|--:|--:|--:|--:|---|", *rows]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in compared["verdict"].value_counts().items())
    listed = [f"* {letter}: {reason}" for reason, letter in letters.items()]
    return "\n".join([head, f"Of {len(compared)}: {counts}.", "", *table, "", *listed, ""])


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
