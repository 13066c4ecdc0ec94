"""Judge `pcielab expect` by published rows of boxes (`make boxes`).

The ranges are made from `profiles/published` without the site that a row comes from. With `--rows` and
`--machines` it judges rows of other boxes: a table with the columns of `profiles/published/boxes.csv`, and a
folder with a file NAME.toml for each name of its column `box`.
"""

import argparse
from pathlib import Path

from pcielab.expectations.judging import Verdict, described, judged
from pcielab.expectations.tables import box_rows


def _line(verdict: Verdict) -> str:
    """A row that is outside its range: its question, its value, both ends, and the limit or what is missing."""
    given = verdict.given
    ends = (given.lower, given.upper) if given else (None, None)
    shown = " ".join("       -" if end is None else f"{end:8.2f}" for end in ends)
    reason = verdict.refusal or (given.unknown[0] if given and given.unknown else given.limit if given else "")
    row = verdict.row
    return f"{verdict.word:8} {row.id:8} {row.asks[:48]:48} {row.scaled:9.2f} {shown}  {reason[:60]}"


def main() -> None:
    """Print the rows that are outside, then the scores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, help="rows to judge; the shipped ones by default")
    parser.add_argument("--machines", type=Path, help="their machines; the shipped boxes by default")
    given = parser.parse_args()
    verdicts = judged(box_rows(given.rows), given.machines)
    for verdict in verdicts:
        if verdict.word == "inside":
            continue
        print(_line(verdict))
    print("\n".join(described(verdicts)))


if __name__ == "__main__":
    main()
