"""Makes each change of ``mutants.toml`` and runs its bench, which has to notice: ``make rtl-mutants``.

All changes are built into one core, where a plusarg chooses one, so that there is one build for each bench and not
for each change. Without the plusarg the benches have to pass. The table of ``README.md`` is written where all were
run. Exit code 1: a change was not noticed, cannot be made, or a bench fails without any.
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

from readme import table, write_section  # noqa: E402
from simulator import BUILDS, SOURCES, BenchFailedError, Design, run_bench  # noqa: E402

CORE = "pcielab_core"
PARAMETERS = {
    "stream_fifo": {"WIDTH": 8, "DEPTH": 4},
    "id_pool": {"COUNT": 8},
    "latency_recorder": {"RECORDS": 4096},
    "completion_tracker": {"DATA_WIDTH": 256, "TAGS": 32},
    "message_receiver": {"DATA_WIDTH": 256},
    "request_engine": {"DATA_WIDTH": 256, "TAGS": 64},
    "request_arbiter": {"DATA_WIDTH": 256, "SOURCES": 3},
    CORE: {"DATA_WIDTH": 256, "TAGS": 64},
}
TOPS = {
    "headers": "header_pair",
    "request_engine": "flat_request_engine",
    "request_arbiter": "flat_request_arbiter",
    "completion_tracker": "flat_completion_tracker",
    "message_receiver": "flat_message_receiver",
}
CHOICE = """// Which change is made: that of +mutant=NUMBER, or none.
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
    """A change, and who has to notice."""

    number: int
    file: str
    was: str
    becomes: str
    bench: str
    defect: str
    within: str = ""

    def place(self, text: str) -> tuple[int, int]:
        """Where in a module's text the change is made.

        Raises:
            ValueError: Its place is not there, or more than once.
        """
        around = self.within or self.was
        if text.count(around) != 1 or around.count(self.was) != 1:
            raise ValueError(f"mutants.toml: {self.file} has {around!r} {text.count(around)} times, not once")
        start = text.index(around) + around.index(self.was)
        return start, start + len(self.was)

    def choice(self) -> str:
        """What stands there instead: the change, or what was."""
        chosen = f"pcielab_mutant::number == {self.number}"
        if self.was.endswith(";"):
            return f"if ({chosen}) begin {self.becomes} end else begin {self.was} end"
        return f"({chosen} ? ({self.becomes}) : ({self.was}))"


def mutants() -> list[Mutant]:
    """All of them, numbered from 1."""
    listed = tomllib.loads((HERE / "mutants.toml").read_text())["mutant"]
    return [Mutant(number, **entry) for number, entry in enumerate(listed, 1)]


def mutable_design(listed: list[Mutant]) -> Design:
    """A copy of the core with all changes to choose from."""
    design = Design(BUILDS / "mutants" / "src", BUILDS / "mutants")
    shutil.rmtree(design.sources, ignore_errors=True)
    shutil.copytree(SOURCES, design.sources)
    for path in design.sources.glob("*.sv"):
        text = original = path.read_text()
        places = sorted((mutant.place(original), mutant.choice()) for mutant in listed if mutant.file == path.name)
        # From the last on, so that places before stay where they are.
        for (start, end), choice in reversed(places):
            text = text[:start] + choice + text[end:]
        path.write_text(text)
    package = design.sources / "pcielab_pkg.sv"
    package.write_text(CHOICE + package.read_text())
    return design


def run(design: Design, bench: str, number: int) -> None:
    """Runs a bench on the core with a change, or, for 0, without.

    Raises:
        BenchFailedError: It fails.
    """
    module, _, only = bench.partition("/")
    name = "core" if module == CORE else module
    plusargs = [f"+mutant={number}"] if number else []
    run_bench(TOPS.get(module, module), f"test_{name}", PARAMETERS.get(module), only or None, design, plusargs)


def noticed(design: Design, mutant: Mutant) -> bool:
    """Whether its bench fails."""
    try:
        run(design, mutant.bench, mutant.number)
    except BenchFailedError:
        return True
    return False


def main() -> int:
    """Tries all, or those of one bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", metavar="BENCH", help="the changes that this bench has to notice, as mutants.toml names it"
    )
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
