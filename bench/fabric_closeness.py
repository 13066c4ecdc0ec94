"""How close the simulated testbed comes to the rPCIeBench paper: writes docs/reference/fabric-paper.md."""

import math
import tempfile
from pathlib import Path

import pandas as pd

from pcielab import fabric, open_store

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "fabric-paper.md"
SUITE = "rpciebench"
HEAD = """# Every number of the rPCIeBench paper

Hou et al., *Understanding Routable PCIe Performance for Composable Infrastructures*, NSDI 2024, beside what
`pcielab fabric run fabrex-u55c --suite rpciebench` **simulates** and, for the flows of its table 2, what `max-min`
estimates. `make closeness` writes this page. A latency or bandwidth is *within* if it is at most 5 % off, a share
if it is at most 3 points off, rounding of the published number allowed for; otherwise the letter says why.
"""


def main() -> None:
    """Run the suite and write the page."""
    testbed, suite = fabric.load("fabrex-u55c"), fabric.load_fabric_suite(SUITE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        fabric.run(testbed, suite.points(), path, suite=suite.name)
        compared = fabric.compare_with_published(open_store(path))
    if compared is None:
        raise SystemExit(f"nothing is published of suite {SUITE}")
    PAGE.write_text(page(compared), encoding="utf-8")
    print(compared["verdict"].value_counts().to_string())


def page(compared: pd.DataFrame) -> str:
    """The page, with a letter for each reason."""
    reasons = list(dict.fromkeys(compared["reason"].dropna()))
    letters = {reason: chr(ord("a") + number) for number, reason in enumerate(reasons)}
    rows = [_row(row, letters) for row in compared.to_dict("records")]
    titles = ["where", "what", "paper", "simulated", "estimated", "error", ""]
    table = ["| " + " | ".join(titles) + " |", "|---|---|--:|--:|--:|--:|---|", *rows]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in compared["verdict"].value_counts().items())
    listed = [f"* {letter}: {reason}" for reason, letter in letters.items()]
    return "\n".join([HEAD, f"Of {len(compared)}: {counts}.", "", *table, "", *listed, ""])


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
