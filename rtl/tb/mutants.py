"""Makes each change of ``mutants.toml`` and runs its benches, which have to notice: ``make rtl-mutants``.

The table of ``README.md`` is written where all were run. Exit code 1: a change was not noticed, or cannot be made.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
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
    "request_engine": {"DATA_WIDTH": 256, "TAGS": 64},
    CORE: {"DATA_WIDTH": 256, "TAGS": 64},
}
TOPS = {"headers": "header_pair"}
LIMIT_S = 600
"""A bench that takes longer has noticed: no bench of the core as it is comes near."""


@dataclass(frozen=True)
class Mutant:
    """A change, and who has to notice."""

    number: int
    file: str
    was: str
    becomes: str
    benches: list[str]
    defect: str

    def make(self, design: Design) -> None:
        """Copies the core, with the change.

        Raises:
            ValueError: The line is not there, or more than once.
        """
        shutil.rmtree(design.builds, ignore_errors=True)
        shutil.copytree(SOURCES, design.sources)
        path = design.sources / self.file
        text = path.read_text()
        if text.count(self.was) != 1:
            raise ValueError(f"mutants.toml: {self.file} has {self.was!r} {text.count(self.was)} times")
        path.write_text(text.replace(self.was, self.becomes))


def mutants() -> list[Mutant]:
    """All of them, numbered from 1."""
    listed = tomllib.loads((HERE / "mutants.toml").read_text())["mutant"]
    return [Mutant(number, **entry) for number, entry in enumerate(listed, 1)]


def design_of(mutant: Mutant) -> Design:
    """Where a change is made and built."""
    builds = BUILDS / "mutants" / str(mutant.number)
    return Design(builds / "src", builds)


def noticed_by(mutant: Mutant) -> str | None:
    """The bench that fails, if one does. Run in a process of its own, since a change can make a bench hang."""
    design = design_of(mutant)
    mutant.make(design)
    for bench in mutant.benches:
        module, _, only = bench.partition("/")
        top = TOPS.get(module, module)
        name = "core" if module == CORE else module
        try:
            run_bench(top, f"test_{name}", PARAMETERS.get(module), only or None, design)
        except BenchFailedError:
            return bench
    return None


def tried(mutant: Mutant) -> str:
    """What became of a change: the bench that noticed it, or what is wrong.

    Raises:
        RuntimeError: It was not noticed, or could not be tried.
    """
    command = [sys.executable, str(Path(__file__).resolve()), "--one", str(mutant.number)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            out, problem = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return f"{mutant.benches[-1]}, which does not end"
    shutil.rmtree(design_of(mutant).builds, ignore_errors=True)
    if process.returncode:
        raise RuntimeError(problem[-3000:] or "not noticed")
    return out.strip().splitlines()[-1]


def main() -> int:
    """Tries all, or some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="a file of the core: its changes alone")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one is not None:
        bench = noticed_by(mutants()[chosen.one - 1])
        print(bench or "")
        return int(bench is None)
    rows, survived = [], 0
    for mutant in mutants():
        if chosen.only and chosen.only != mutant.file:
            continue
        try:
            bench = tried(mutant)
        except RuntimeError as problem:
            survived += 1
            bench = "**nobody**"
            print(problem, file=sys.stderr)
        print(f"{mutant.number}: {mutant.file}: {mutant.defect}: {bench}", flush=True)
        rows.append([f"`{mutant.file}`", mutant.defect, bench.replace("/", ", ").replace("_", " ")])
    if not chosen.only:
        write_section("mutants", table(["file", "the change's effect", "noticed by the bench"], rows))
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
