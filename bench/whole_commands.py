"""Measures whole commands and the baselines, prints both, and can append them to a history file.

Run by `make bench`. Times on a shared machine are noisy: compare ratios within a run, and processor times.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bridge import bridges
from commands import SYSTEM, commands
from criterion_results import criterion_results
from device_parts import device_parts
from estimates import estimates
from examinations import examinations
from gpu_own_time import own_times
from pages import waitings
from pcielab import __version__
from pcielab.cli.output import Format, print_rows
from pcielab.library import profiles
from pcielab.work.running import available_cores
from rtl_reads import missing, rtl_reads
from starts import starts
from throughput import throughputs

ROOT = Path(__file__).parents[1]
CRITERION = ROOT / "target" / "criterion"
RTL_SYSTEM = "snb"
Rows = list[dict[str, Any]]


def main() -> None:
    """Measure, print, and record on request."""
    arguments = _arguments()
    measured: dict[str, Rows] = {}
    for key, title, measure in _sections(arguments.suites):
        measured[key] = _rows(measure())
        print_rows(measured[key], Format.TABLE, title)
    results = criterion_results(CRITERION, arguments.since) if arguments.since else {}
    if parts := device_parts(results):
        print_rows(_rows(parts), Format.TABLE, "Our own share of a real device's numbers")
    if arguments.record:
        with arguments.record.open("a") as history:
            history.write(json.dumps(_line(measured, results)) + "\n")


def _sections(suites: list[str]) -> list[tuple[str, str, Callable[[], Iterable[Any]]]]:
    """Measurements in order: key of the history, title, function."""
    reads, run = "Reads of 64 B, 8 KiB window", f"pcielab run --profile {SYSTEM}, on {available_cores()} cores"
    sections: list[tuple[str, str, Callable[[], Iterable[Any]]]] = [
        ("starts", "Processor time of small commands, and as a multiple of Python's own", starts),
        ("reads", f"{reads}, {SYSTEM}: simulated transactions per second, ratios to the first row", _reads),
        ("rtl", f"{reads}, by the FPGA core in simulation, per processor second", lambda: rtl_reads(RTL_SYSTEM)),
        ("commands", run, lambda: commands(suites)),
        ("estimates", "pcielab fabric estimate over 10,000 edges, flows from Parquet, shares as CSV", estimates),
        ("examinations", "pcielab doctor on a machine of 1,000 functions", examinations),
        ("bridge", "A device written in Python: cost of a transaction, by slice", bridges),
        ("pages", "pcielab explore: delay after a slider's move, in Chromium", waitings),
        ("gpu", "pcielab run --device cuda: own processor time, 10^6 transactions of 64 B", own_times),
    ]
    if lacking := missing():
        print(f"note: without the FPGA core: {lacking}", file=sys.stderr)
    return [section for section in sections if section[0] != "rtl" or not lacking]


def _rows(found: Iterable[Any]) -> Rows:
    return [one if isinstance(one, dict) else asdict(one) for one in found]


def _reads() -> Rows:
    found = throughputs(profiles.resolve(SYSTEM))
    return [way.row(found[0]) for way in found]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, metavar="FILE", help="append the results, as one line of JSON")
    parser.add_argument("--since", type=Path, metavar="FILE", help="record criterion results newer than FILE, too")
    parser.add_argument("--suites", nargs="+", default=["quick", "paper"], metavar="NAME", help="suites to run")
    return parser.parse_args()


def _line(measured: dict[str, Rows], results: dict[str, float]) -> dict[str, object]:
    """The line of the history, with three digits: no figure here is more exact."""
    others = [key for key in measured if key not in ("starts", "reads")]
    return {
        "commit": _commit(),
        "version": __version__,
        "cores": available_cores(),
        "starts": {row["command"]: float(f"{row['of_python']:.3g}") for row in measured["starts"]},
        "reads": {row["name"]: _rounded(row) for row in measured["reads"]},
        **{key: [_rounded(row) for row in measured[key]] for key in others},
        "criterion": _rounded(results),
    }


def _rounded(values: dict[str, object]) -> dict[str, object]:
    return {
        key: float(f"{value:.3g}") if isinstance(value, float) else value
        for key, value in values.items()
        if key != "name"
    }


def _commit() -> str:
    """The measured commit, marked as dirty if files differ from it."""
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    return subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
