"""Runs the bench of each mutant in ``mutants.toml``, which has to fail: ``make rtl-mutants``.

One core contains all mutants, and a plusarg selects one, so that each bench is built once. Without the plusarg the
benches have to pass. A run of all mutants writes the table of ``README.md``. Exit code 1: a mutant was not noticed
or cannot be made, or a bench fails without any.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from benches import BENCHES  # noqa: E402
from readme import table, write_section  # noqa: E402
from simulator import BUILDS, SOURCES, BenchFailedError, Design, run_bench  # noqa: E402

CHOICE = """// The selected mutant: that of +mutant=NUMBER, or none.
package pcielab_mutant;
    function automatic int chosen();
        int number;
        return $value$plusargs("mutant=%d", number) != 0 ? number : 0;
    endfunction
    int number = chosen();
endpackage
"""


@dataclass(frozen=True)
class Mutant:
    """A change of one line, and the bench that has to notice it."""

    number: int
    file: str
    was: str
    becomes: str
    bench: str
    defect: str
    within: str = ""

    def span(self, text: str) -> tuple[int, int]:
        """Start and end of the changed code in a module's text.

        Raises:
            ValueError: The code is missing, or is there more than once.
        """
        around = self.within or self.was
        if text.count(around) != 1 or around.count(self.was) != 1:
            raise ValueError(
                f"mutants.toml: {self.file} has {around!r} {text.count(around)} times: quote it with `within`"
            )
        start = text.index(around) + around.index(self.was)
        return start, start + len(self.was)

    def choice(self) -> str:
        """The code that selects between the change and the original."""
        chosen = f"pcielab_mutant::number == {self.number}"
        if self.was.endswith(";"):
            return f"if ({chosen}) begin {self.becomes} end else begin {self.was} end"
        return f"({chosen} ? ({self.becomes}) : ({self.was}))"


def mutants() -> list[Mutant]:
    """Read all mutants, numbered from 1."""
    listed = tomllib.loads((HERE / "mutants.toml").read_text())["mutant"]
    return [
        Mutant(number, **{"bench": Path(entry["file"]).stem, **entry}) for number, entry in enumerate(listed, 1)
    ]


def mutable_design(listed: list[Mutant]) -> Design:
    """Make a copy of the core that contains all mutants."""
    design = Design(BUILDS / "mutants" / "src", BUILDS / "mutants")
    shutil.rmtree(design.sources, ignore_errors=True)
    shutil.copytree(SOURCES, design.sources)
    for path in design.sources.glob("*.sv"):
        text = original = path.read_text()
        spans = sorted((mutant.span(original), mutant.choice()) for mutant in listed if mutant.file == path.name)
        # Backwards, so that earlier offsets stay valid.
        for (start, end), choice in reversed(spans):
            text = text[:start] + choice + text[end:]
        path.write_text(text)
    package = design.sources / "pcielab_pkg.sv"
    package.write_text(CHOICE + package.read_text())
    return design


def run(design: Design, bench: str, number: int) -> None:
    """Run a bench on a mutant; 0: on the original.

    Raises:
        BenchFailedError: The bench fails.
    """
    name, _, only = bench.partition("/")
    plusargs = [f"+mutant={number}"] if number else []
    run_bench(BENCHES[name].top, f"test_{name}", BENCHES[name].sizes[0], only or None, design, plusargs)


def noticed(design: Design, mutant: Mutant) -> bool:
    """Whether the bench fails on a mutant."""
    try:
        run(design, mutant.bench, mutant.number)
    except BenchFailedError:
        return True
    return False


def main() -> int:
    """Run all mutants, or those of one bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="BENCH", help="only the mutants of this bench, as mutants.toml names it")
    chosen = parser.parse_args()
    listed = mutants()
    design = mutable_design(listed)
    rows, survived = [], 0
    for bench in dict.fromkeys(mutant.bench for mutant in listed):
        if chosen.only and not bench.startswith(chosen.only):
            continue
        run(design, bench, 0)
        for mutant in (mutant for mutant in listed if mutant.bench == bench):
            found = noticed(design, mutant)
            survived += not found
            by = bench.replace("/", ", ").replace("_", " ") if found else "**nobody**"
            rows.append([f"`{mutant.file}`", mutant.defect, by])
            print("| " + " | ".join(rows[-1]) + " |", flush=True)
    if not chosen.only:
        write_section("mutants", table(["file", "the change's effect", "noticed by the bench"], rows))
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
