"""Checks of the simulator's own claims: three tables of `docs/concepts/trust.md`.

* `bounds`: simulated bandwidths relative to the binding bound, over random systems.
* `sampling`: errors of adaptive runs relative to full runs, over random systems.
* `seeds`: how often the interval of an adaptive run contains the mean over many seeds, on the systems whose whole
  suites were measured.

Random systems come from `tests/random_systems.py`: PYTHONPATH needs `tests`.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from claims import Bounded, Coverage, Sampled, held_against_bound, sampled, under_seed
from marked import write_between
from pcielab.library.profiles import names, resolve
from pcielab.library.suites import load_suite
from pcielab.percentiles import percentile
from random_systems import random_case

PAGE = Path("docs/concepts/trust.md")
BOUND_TRANSACTIONS = 1 << 17
SAMPLED_TRANSACTIONS = 1 << 22
ABOVE = 1.001
"""Share of the bound above which a bandwidth exceeds it; sampling is not more exact."""
MEASURED_MACHINES = ("snb", "ib", "hsw2620", "e3")
"""Machines whose whole measurements were used."""

T = TypeVar("T")
R = TypeVar("R")


def each(work: Callable[[T], R], items: Sequence[T], title: str) -> Iterator[R]:
    """Yield the result of `work` on each item, in order, computed on all cores."""
    begun = shown = time.monotonic()
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        for done, result in enumerate(workers.map(work, items, chunksize=max(1, min(16, len(items) // 64))), 1):
            yield result
            if time.monotonic() - shown > 2 or done == len(items):
                shown = time.monotonic()
                print(f"\r{title}: {done} of {len(items)}, {shown - begun:.0f} s", end="", file=sys.stderr)
    print(file=sys.stderr)


def bounded(number: int) -> Bounded | None:
    """Compare case `number` with its bound."""
    return held_against_bound(random_case(number, transactions=BOUND_TRANSACTIONS))


def bounds_table(cases: int) -> list[str]:
    """The table of simulated bandwidths as shares of the binding bound."""
    rows = [row for row in each(bounded, range(cases), "bounds") if row]
    above = [row for row in rows if row.share > ABOVE]
    for row in above:
        print(f"{row.share:.2%} of {row.bound}: {row.title}", file=sys.stderr)
    lines = [
        "| bound that binds | random systems | bandwidth as a share of it, %: median | largest | above it |",
        "|---|---|---|---|---|",
    ]
    for bound in sorted({row.bound for row in rows}):
        shares = sorted(100 * row.share for row in rows if row.bound == bound)
        over = sum(share > 100 * ABOVE for share in shares)
        lines.append(f"| {bound} | {len(shares)} | {statistics.median(shares):.1f} | {shares[-1]:.2f} | {over} |")
    return [*lines, f"| **all** | {len(rows)} | | | {len(above)} |"]


def sampling_table(cases: int) -> list[str]:
    """The table of errors of adaptive runs."""
    work = partial(sampled, transactions=SAMPLED_TRANSACTIONS)
    rows = [row for row in each(work, range(cases), "sampling") if row]
    for row in rows:
        if abs(row.error) > 0.003 or not row.inside:
            words = "" if row.settled else ", marked as not settled"
            print(f"{row.error:+.3%}{words}: {row.case.title}", file=sys.stderr)
    groups: list[tuple[str, Callable[[Sampled], bool]]] = [
        ("Gen4 to Gen6, 16 lanes, 64 to 1,024 tags", lambda row: row.case.number % 3 == 0),
        ("any other link", lambda row: row.case.number % 3 != 0),
        ("of all: settled", lambda row: row.settled),
        ("of all: those that say they have not settled", lambda row: not row.settled),
    ]
    lines = [
        "| random systems | cases | error of bandwidth, %: median | p95 | largest | full run inside interval |",
        "|---|---|---|---|---|---|",
    ]
    for title, belongs in groups:
        chosen = [row for row in rows if belongs(row)]
        errors = sorted(abs(100 * row.error) for row in chosen)
        cells = ["0", "", "", "", ""]
        if errors:
            inside = sum(row.inside for row in chosen) / len(chosen)
            largest, p95 = errors[-1], percentile(errors, 0.95)
            cells = [f"{len(errors)}", f"{statistics.median(errors):.4f}", f"{p95:.3f}", f"{largest:.3f}"]
            cells.append(f"{inside:.1%}")
        lines.append(f"| {' | '.join([title, *cells])} |")
    return lines


def seeds_table(seeds: int, systems: Iterable[str]) -> list[str]:
    """The table of intervals that contain the mean over seeds."""
    tests = [test for test in load_suite("quick").tests if test["parameters"]["operation"].startswith("bw-")]
    suites = [json.dumps({"name": "single", "title": "", "tests": [test]}) for test in tests]
    lines = [
        "| system | bandwidth tests | of which vary | mean over all seeds inside the interval "
        "| spread between seeds, %: median | largest |",
        "|---|---|---|---|---|---|",
    ]
    for system in systems:
        asked = [(resolve(system).to_json(), suite, seed) for suite in suites for seed in range(1, seeds + 1)]
        results = list(each(of_a_seed, asked, system))
        found = [Coverage.of(results[first : first + seeds]) for first in range(0, len(results), seeds)]
        varying = [test for test in found if test.varies]
        spreads = sorted(100 * test.spread for test in varying)
        held = sum(test.held for test in varying) / (seeds * len(varying))
        lines.append(
            f"| `{system}` | {len(tests)} | {len(varying)} | {held:.1%} "
            f"| {statistics.median(spreads):.3f} | {spreads[-1]:.2f} |"
        )
        print(lines[-1], file=sys.stderr)
    return lines


def of_a_seed(asked: tuple[str, str, int]) -> dict[str, float]:
    """Run a test of a system under a seed."""
    return under_seed(*asked)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the requested tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names_of_tables = ("bounds", "sampling", "seeds")
    parser.add_argument("--only", action="append", choices=names_of_tables, help="this table; repeatable")
    parser.add_argument("--cases", type=int, help="random systems [default: 20000 for bounds, 300 for sampling]")
    parser.add_argument("--seeds", type=int, default=100, help="[default: 100]")
    parser.add_argument("--system", action="append", help="only this system, for seeds; repeatable")
    options = parser.parse_args(arguments)
    systems = [name for name in names("system") if name.split("-")[0] in MEASURED_MACHINES and name != "e3-nosp"]
    makers: dict[str, Callable[[], list[str]]] = {
        "bounds": lambda: bounds_table(options.cases or 20_000),
        "sampling": lambda: sampling_table(options.cases or 300),
        "seeds": lambda: seeds_table(options.seeds, options.system or systems),
    }
    whole = options.cases is None and options.system is None and options.seeds == parser.get_default("seeds")
    for name in options.only or names_of_tables:
        lines = makers[name]()
        print("\n".join(lines))
        if whole:
            write_between(PAGE, f"<!-- {name}: make trust-tables -->", f"<!-- end of {name} -->", lines)


if __name__ == "__main__":
    main()
