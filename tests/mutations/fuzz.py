"""`make fuzz`: hundreds of thousands of changed inputs, on all cores, until the count or the time is reached.

    python tests/mutations/fuzz.py --count 1000000 --minutes 60
    python tests/mutations/fuzz.py --kind flows --first 1234 --again      # one case here, with its traceback

A failure is printed with its kind and number; the exit code is then 1.
"""

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.pool import Pool
from pathlib import Path

_CHUNK = 500
sys.path.insert(0, str(Path(__file__).parents[1]))


def main() -> int:
    """Run the fuzzer."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    import resealed
    from kinds import KINDS, prepare

    import pcielab

    options = _options(list(KINDS))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        print(f"trying {pcielab.__file__}", file=sys.stderr)
        if {*options.kind} & {*resealed.KINDS}:
            resealed.load_pages(folder)
        if options.again:
            (folder / "again").mkdir()
            KINDS[options.kind[0]](random.Random(f"{options.kind[0]} {options.first}"), folder / "again")
            return 0
        each = max(options.count // len(options.kind), 1)
        last = options.first + each
        chunks = (
            (kind, range(first, min(first + _CHUNK, last)), folder)
            for first in range(options.first, last, _CHUNK)
            for kind in options.kind
        )
        with multiprocessing.get_context("fork").Pool(options.processes) as pool:
            return _run(pool, chunks, options.minutes * 60)


def _options(kinds: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000, help="cases of all kinds together")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count(), help="cases at a time [default: each core]"
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="time limit")
    parser.add_argument("--kind", action="append", choices=kinds, help="only this kind; repeatable")
    parser.add_argument("--first", type=int, default=0, help="number of the first case of each kind")
    parser.add_argument(
        "--again", action="store_true", help="run the first case of the kind in this process, without limits"
    )
    options = parser.parse_args()
    options.kind = options.kind or kinds
    return options


def _chunk(task: tuple[str, range, Path]) -> tuple[str, int, float, list[tuple[int, str]]]:
    from kinds import KINDS
    from workers import failures

    kind, numbers, folder = task
    started = time.monotonic()
    failed = [(failure.number, failure.problem) for failure in failures(kind, KINDS[kind], numbers, folder)]
    return kind, len(numbers), time.monotonic() - started, failed


def _run(pool: Pool, chunks: Iterator[tuple[str, range, Path]], seconds: float) -> int:
    started = time.monotonic()
    done: dict[str, int] = {}
    spent: dict[str, float] = {}
    failed = 0
    for kind, count, took, problems in pool.imap_unordered(_chunk, chunks):
        done[kind] = done.get(kind, 0) + count
        spent[kind] = spent.get(kind, 0.0) + took
        failed += len(problems)
        for number, problem in problems:
            print(f"{kind} {number}: {problem}", flush=True)
        print(f"\r{sum(done.values())} cases, {failed} failed", end="", file=sys.stderr)
        if time.monotonic() - started > seconds:
            break
    print(file=sys.stderr)
    for kind, count in done.items():
        print(f"{kind}: {count} cases, {1e3 * spent[kind] / count:.1f} ms each")
    print(f"{sum(done.values())} cases in {time.monotonic() - started:.0f} s: {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
