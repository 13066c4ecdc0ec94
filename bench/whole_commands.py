"""Measures whole commands and the baselines, prints both, and can append them to a history file.

Run by `make bench`. Figures of a shared machine are noisy: ratios of one run count, and
processor time more than wall time.
"""

import argparse
import json
import subprocess
from dataclasses import asdict
from pathlib import Path

from bridge import Bridge, bridges
from commands import SYSTEM, Command, commands
from criterion_results import criterion_results
from device_parts import device_parts
from estimates import EstimateCommand, estimates
from examinations import ExaminationCommand, examinations
from gpu_own_time import OwnTime, own_times
from pages import Waiting, waitings
from pcielab import __version__
from pcielab.cli.output import Format, print_rows
from pcielab.library import profiles
from pcielab.work.running import available_cores
from rtl_reads import RtlReads, rtl_reads
from starts import Start, starts
from throughput import Throughput, throughputs

ROOT = Path(__file__).parents[1]
CRITERION = ROOT / "target" / "criterion"
RTL_SYSTEM = "snb"


def main() -> None:
    """Measure, print, and record if asked to."""
    arguments = _arguments()
    started = list(starts())
    print_rows(
        [asdict(start) for start in started],
        Format.TABLE,
        "Processor time of commands that hardly do anything, and as a multiple of Python's own",
    )
    measured = throughputs(profiles.resolve(SYSTEM))
    print_rows(
        [way.row(measured[0]) for way in measured],
        Format.TABLE,
        f"Reads of 64 B, 8 KiB window, {SYSTEM}: transactions simulated a second, ratios to the first row",
    )
    in_rtl = rtl_reads(RTL_SYSTEM)
    print_rows(
        [asdict(way) for way in in_rtl],
        Format.TABLE,
        "Reads of 64 B, 8 KiB window, by the FPGA core in simulation, a second of processor time",
    )
    ran = list(commands(arguments.suites))
    print_rows(
        [asdict(command) for command in ran],
        Format.TABLE,
        f"pcielab run --profile {SYSTEM}, on {available_cores()} cores",
    )
    estimated = list(estimates())
    print_rows(
        [asdict(command) for command in estimated],
        Format.TABLE,
        "pcielab fabric estimate over 10,000 edges, flows from Parquet, shares as CSV",
    )
    examined = list(examinations())
    print_rows(
        [asdict(command) for command in examined], Format.TABLE, "pcielab doctor on a machine of 1,000 functions"
    )
    crossed = list(bridges())
    print_rows(
        [asdict(way) for way in crossed],
        Format.TABLE,
        "A device written in Python: what a transaction costs, by slice",
    )
    waited = waitings()
    print_rows([asdict(one) for one in waited], Format.TABLE, "pcielab explore: from a slider's move, in Chromium")
    gpu_times = own_times()
    print_rows(
        [asdict(one) for one in gpu_times],
        Format.TABLE,
        "pcielab run --device cuda: processor time beside the card, 10^6 transactions of 64 B",
    )
    results = criterion_results(CRITERION, arguments.since) if arguments.since else {}
    if parts := device_parts(results):
        print_rows([asdict(part) for part in parts], Format.TABLE, "What of a real device's numbers is ours")
    if arguments.record:
        with arguments.record.open("a") as history:
            line = _line(started, measured, in_rtl, ran, estimated, examined, crossed, waited, gpu_times, results)
            history.write(json.dumps(line) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, metavar="FILE", help="append the results, as one line of JSON")
    parser.add_argument("--since", type=Path, metavar="FILE", help="record criterion results newer than FILE, too")
    parser.add_argument("--suites", nargs="+", default=["quick", "paper"], metavar="NAME", help="suites to run")
    return parser.parse_args()


def _line(
    started: list[Start],
    measured: list[Throughput],
    in_rtl: list[RtlReads],
    ran: list[Command],
    estimated: list[EstimateCommand],
    examined: list[ExaminationCommand],
    crossed: list[Bridge],
    waited: list[Waiting],
    gpu_times: list[OwnTime],
    results: dict[str, float],
) -> dict[str, object]:
    """Three digits: no figure here is better than that."""
    slowest = measured[0]
    return {
        "commit": _commit(),
        "version": __version__,
        "cores": available_cores(),
        "starts": {start.command: float(f"{start.of_python:.3g}") for start in started},
        "reads": {way.name: _rounded(way.row(slowest)) for way in measured},
        "rtl": [_rounded(asdict(way)) for way in in_rtl],
        "commands": [_rounded(asdict(command)) for command in ran],
        "estimates": [_rounded(asdict(command)) for command in estimated],
        "examinations": [_rounded(asdict(command)) for command in examined],
        "bridge": [_rounded(asdict(way)) for way in crossed],
        "pages": [_rounded(asdict(one)) for one in waited],
        "gpu": [_rounded(asdict(one)) for one in gpu_times],
        "criterion": _rounded(results),
    }


def _rounded(values: dict[str, object]) -> dict[str, object]:
    return {
        key: float(f"{value:.3g}") if isinstance(value, float) else value
        for key, value in values.items()
        if key != "name"
    }


def _commit() -> str:
    """The commit that was measured, marked where files differ from it."""
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    return subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
