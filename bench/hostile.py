"""Attacks on pcielab, by class, and the faults that they found: a table of docs/concepts/what-is-trusted.md.

Each class is a group of tests that record the number of attempts and faults; a plain failure counts as one fault.
A class with too few attempts fails, too, for example without a browser. A whole run (`--share 1`) renews its
rows of the table.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from marked import write_between

PAGE = Path("docs/concepts/what-is-trusted.md")
START, END = "<!-- tried: make hostile -->", "<!-- end of tried -->"


@dataclass(frozen=True)
class Attack:
    """A class of hostile inputs.

    Attributes:
        name: Its name on the command line.
        title: The inputs, for the table.
        tests: Arguments of pytest.
        least: Least number of attempts in a whole run.
        variable: The environment variable with the number of attempts; none if all always run.
        count: Its value in a whole run.
        command: The command that runs this class alone.
    """

    name: str
    title: str
    tests: tuple[str, ...]
    least: int
    command: str
    variable: str | None = None
    count: int = 0


_TOGETHER = ("-n", "auto", "--dist", "worksteal")
_MUTATED = "tests/mutations/test_mutated_inputs.py"
ATTACKS = (
    Attack(
        "inputs",
        "files of our own, changed at random: systems, suites, fabrics, flows, sweeps, tables, texts and trees of "
        "machines, stores",
        (_MUTATED, "-k", "accepted_or_refused and not sealed"),
        50_000,
        "make fuzz",
        "PCIELAB_INPUTS",
        2_500,
    ),
    Attack(
        "costly",
        "small files that ask for gigabytes or minutes, and pipes into which nobody writes",
        (*_TOGETHER, "tests/mutations/test_costly_inputs.py"),
        40,
        "PCIELAB_COSTLY=1 pytest tests/mutations/test_costly_inputs.py",
        "PCIELAB_COSTLY",
        1,
    ),
    Attack(
        "swollen",
        "texts of every reader, grown to as much as a MiB by repetition, numbering, nesting, long words or large "
        "numbers",
        (*_TOGETHER, "tests/mutations/test_swollen_texts.py"),
        1_600,
        "make swollen",
        "PCIELAB_SWOLLEN",
        40,
    ),
    Attack(
        "stores",
        "stores with wrong values under sound digests",
        (_MUTATED, "-k", "accepted_or_refused and sealed"),
        10_000,
        "make hostile-stores",
        "PCIELAB_SEALED_STORES",
        10_000,
    ),
    Attack(
        "tricks",
        "stores that use SQLite's own means, each read by five commands",
        (*_TOGETHER, "tests/test_foreign_stores.py"),
        14,
        "make hostile-stores",
    ),
    Attack(
        "faults",
        "commands that are killed, or whose disk is full or fails, at a call that changes a file",
        (*_TOGETHER, "tests/test_faults.py"),
        2_000,
        "make faults",
        "PCIELAB_FAULTS",
        188,
    ),
    Attack(
        "names",
        "names of systems, tests, files and folders, each in a dozen commands",
        (*_TOGETHER, "tests/test_hostile_names.py"),
        200,
        "PCIELAB_NAMES=all pytest tests/test_hostile_names.py",
        "PCIELAB_NAMES",
        200,
    ),
    Attack(
        "stops",
        "long calls of the compiled half that a signal interrupts, and the longest of those that ask for none",
        ("-n", "0", "tests/test_entry_points.py"),
        40,
        "make stops",
        "PCIELAB_STOPS",
        1,
    ),
    Attack(
        "types",
        "calls of public Python functions with an argument of a wrong type",
        ("-n", "0", "tests/test_wrong_types.py", "-k", "every_public"),
        2_000,
        "make wrong-types",
        "PCIELAB_WRONG_TYPES",
        2_000,
    ),
    Attack(
        "pages",
        "pages with scripts in every text, opened in Chromium",
        ("tests/report/test_hostile_text.py",),
        5,
        "make hostile-text",
    ),
)


@dataclass(frozen=True)
class Found:
    """Numbers of attempts and faults."""

    tried: int
    faults: int


def run(attack: Attack, share: float) -> Found:
    """Run a class, or a share of it."""
    environment = dict(os.environ)
    if attack.variable:
        environment[attack.variable] = str(max(1, round(attack.count * share)))
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        recorded = (f"--junitxml={results}", "-o", "junit_family=xunit1")
        command = [sys.executable, "-m", "pytest", *attack.tests, *recorded]
        ended = subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode
        if not results.exists():
            raise SystemExit(f"{attack.name}: pytest ended with {ended} and wrote no results")
        found = counted(results)
    # A crashed pytest worker fails without a failed test.
    return found if ended == 0 or found.faults else Found(found.tried, 1)


def counted(results: Path) -> Found:
    """Sum the records of tests in a JUnit file."""
    tried = faults = 0
    for case in ElementTree.parse(results).iter("testcase"):
        of_case = [(one.get("name"), int(one.get("value", "0"))) for one in case.iter("property")]
        tried += sum(value for name, value in of_case if name == "tried")
        failed = case.find("failure") is not None or case.find("error") is not None
        faults += max(sum(value for name, value in of_case if name == "faults"), int(failed))
    return Found(tried, faults)


def table(found: dict[str, Found], page: str) -> list[str]:
    """The lines of the table: new rows for the classes in `found`, the page's rows for the others."""
    lines = ["| inputs | attempts | faults | command |", "|---|---|---|---|"]
    for attack in ATTACKS:
        of_class = found.get(attack.name)
        if of_class is not None:
            lines.append(f"| {attack.title} | {of_class.tried:,} | {of_class.faults:,} | `{attack.command}` |")
        else:
            lines += [line for line in page.splitlines() if line.startswith(f"| {attack.title} |")]
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested classes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [attack.name for attack in ATTACKS]
    parser.add_argument("--only", action="append", choices=names, help="only this class; repeatable")
    parser.add_argument("--share", type=float, default=1.0, help="share of each class to try [default: 1]")
    options = parser.parse_args(arguments)
    found: dict[str, Found] = {}
    missed = False
    for attack in ATTACKS:
        if options.only and attack.name not in options.only:
            continue
        started = time.monotonic()
        found[attack.name] = of_class = run(attack, options.share)
        seconds = time.monotonic() - started
        print(f"{attack.name}: {of_class.tried} tried, {of_class.faults} faults, {seconds:.0f} s", flush=True)
        if of_class.tried < attack.least * (options.share if attack.variable else 1):
            print(
                f"{attack.name}: too few attempts: at least {attack.least * options.share:g} are needed",
                file=sys.stderr,
            )
            missed = True
    if options.share == 1:
        write_between(PAGE, START, END, table(found, PAGE.read_text()))
    return int(missed or any(of_class.faults for of_class in found.values()))


if __name__ == "__main__":
    sys.exit(main())
