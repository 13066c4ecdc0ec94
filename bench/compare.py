"""Compares the speed of this tree with an earlier commit's: `make bench-compare BASE=main~3`.

Both build `crates/pcie-sim/examples/fixed_work.rs`, the base in a git worktree under target/compare. Each test
then runs in both, in turns, each time in a process of its own. User processor time counts, because it depends less
on other load than wall time. The interval is the 95 % interval of the mean ratio of a pair, so it contains the
machine's noise. `--instructions` counts instructions with valgrind instead: exact, also on a busy machine.
"""

import argparse
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from scipy import stats

from pcielab.cli.output import Format, print_rows

ROOT = Path(__file__).parents[1]
EXAMPLE = Path("crates/pcie-sim/examples/fixed_work.rs")
FOLDER = ROOT / "target" / "compare"
_SECONDS_EACH = 0.3
"""Least processor time of the base in a run, unless `_MOST` transactions take less."""
_FEWEST, _MOST = 1 << 16, 1 << 26
_COUNTED = (1 << 14, 1 << 16)
"""Transactions of the two runs whose instructions are subtracted, to exclude the start."""


@dataclass(frozen=True)
class Comparison:
    """The cost of a transaction in both trees."""

    test: str
    base: float
    this: float
    """ns of user processor time, or instructions."""
    ratio: float
    """Of the base's cost to this tree's: above 1 if this tree is faster."""
    low: float
    high: float
    """The 95 % interval of `ratio`."""
    same_result: bool
    """Whether the last transaction ends at the same time."""


@dataclass(frozen=True)
class Programs:
    """The example, built from both trees."""

    base: Path
    this: Path

    def tests(self) -> list[str]:
        """Names of the tests."""
        return subprocess.run([self.this], capture_output=True, text=True, check=True).stdout.splitlines()


def main() -> None:
    """Build, measure, print, and record on request."""
    arguments = _arguments()
    if arguments.instructions and not shutil.which("valgrind"):
        sys.exit("INSTRUCTIONS=1 needs valgrind: apt install valgrind")
    programs = Programs(_base_program(arguments.base), _built(ROOT, ROOT / "target"))
    compared = list(_compared(programs, arguments))
    unit = "instructions" if arguments.instructions else "ns of user processor time"
    print_rows(
        [asdict(one) for one in compared], Format.TABLE, f"Cost of a transaction, {unit}; base: {arguments.base}"
    )
    if arguments.record:
        with arguments.record.open("a") as history:
            history.write(json.dumps(_line(arguments, compared)) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", help="commit to compare with")
    parser.add_argument(
        "--pairs", type=int, default=7, metavar="N", help="runs of each test in each tree, at least 2"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only tests whose name contains TEXT")
    parser.add_argument("--instructions", action="store_true", help="count instructions with valgrind instead")
    parser.add_argument("--record", type=Path, metavar="FILE", help="append the results, as one line of JSON")
    return parser.parse_args()


def _base_program(base: str) -> Path:
    """Build the example from the base, in a worktree that is removed again."""
    tree = FOLDER / "base"
    _git("worktree", "prune")
    shutil.rmtree(tree, ignore_errors=True)
    _git("worktree", "add", "--quiet", "--force", "--detach", str(tree), base)
    try:
        # An earlier commit may lack it, or have fewer tests.
        (tree / EXAMPLE).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / EXAMPLE, tree / EXAMPLE)
        return _built(tree, FOLDER / "build")
    finally:
        _git("worktree", "remove", "--force", str(tree))


def _built(tree: Path, target: Path) -> Path:
    command = ["cargo", "build", "--release", "--quiet", "-p", "pcie-sim", "--example", EXAMPLE.stem]
    if subprocess.run([*command, "--target-dir", target], cwd=tree, check=False).returncode:
        sys.exit(f"{tree}: {EXAMPLE} does not build; a base needs the interface of pcie-sim that it uses")
    return target / "release" / "examples" / EXAMPLE.stem


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def _compared(programs: Programs, arguments: argparse.Namespace) -> Iterator[Comparison]:
    for test in programs.tests():
        if arguments.only in test:
            yield (
                _by_instructions(programs, test)
                if arguments.instructions
                else _by_time(programs, test, arguments.pairs)
            )


def _by_time(programs: Programs, test: str, pairs: int) -> Comparison:
    count = _FEWEST
    while count < _MOST and _timed(programs.base, test, count)[0] < _SECONDS_EACH:
        count *= 4
    base: list[float] = []
    this: list[float] = []
    same = True
    for pair in range(max(pairs, 2)):
        # By turns the first of a pair, so that a trend favours neither.
        order = [(programs.base, base), (programs.this, this)]
        results = []
        for program, times in order if pair % 2 == 0 else reversed(order):
            seconds, result = _timed(program, test, count)
            times.append(seconds)
            results.append(result)
        same &= results[0] == results[1]
    logs = [math.log(one / other) for one, other in zip(base, this, strict=True)]
    middle, error = statistics.mean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    half = float(stats.t.ppf(0.975, len(logs) - 1)) * error
    ratio, low, high = (math.exp(value) for value in (middle, middle - half, middle + half))
    return Comparison(test, _ns(base, count), _ns(this, count), ratio, low, high, same)


def _ns(seconds: list[float], count: int) -> float:
    return statistics.median(seconds) / count * 1e9


def _timed(program: Path, test: str, count: int) -> tuple[float, str]:
    """User processor time of a run, s, and what it prints."""
    process = subprocess.Popen([program, test, str(count)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    result = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{program} {test!r} {count} failed with exit code {process.returncode}")
    return max(used.ru_utime, 1e-6), result


def _by_instructions(programs: Programs, test: str) -> Comparison:
    few, many = _COUNTED
    base, this = (
        (_instructions(program, test, many) - _instructions(program, test, few)) / (many - few)
        for program in (programs.base, programs.this)
    )
    ratio = base / this if this else math.inf
    same = _timed(programs.base, test, many)[1] == _timed(programs.this, test, many)[1]
    return Comparison(test, base, this, ratio, ratio, ratio, same)


def _instructions(program: Path, test: str, count: int) -> int:
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    done = subprocess.run([*command, program, test, str(count)], capture_output=True, text=True, check=True)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if not found:
        sys.exit(f"valgrind reported no number of instructions: {done.stderr.strip()}")
    return int(found[1].replace(",", ""))


def _line(arguments: argparse.Namespace, compared: list[Comparison]) -> dict[str, object]:
    """The line of the history, with three digits: no figure here is more exact."""
    rounded = [
        {key: float(f"{value:.3g}") if isinstance(value, float) else value for key, value in asdict(one).items()}
        for one in compared
    ]
    return {
        "commit": _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"),
        "subject": _git("log", "-1", "--format=%s"),
        "base": _git("rev-parse", arguments.base),
        "unit": "instructions" if arguments.instructions else "ns",
        "compared": rounded,
    }


if __name__ == "__main__":
    main()
