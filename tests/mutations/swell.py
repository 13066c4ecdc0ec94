"""`make swollen`: swells texts for every reader, and prints how long each reader takes for the slowest.

    python tests/mutations/swell.py --count 200
    python tests/mutations/swell.py --reader fabric --first 17 --again      # one case here, with its traceback

A reader that takes over five seconds of processor time or a GiB, and announces nothing, is a failure, as is one
that neither takes a text nor refuses it in a proper error. The exit code is then 1.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))


def main() -> int:
    """Swell texts."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    import workers
    from resealed import command_line
    from swollen_readers import BESIDE_SECONDS, MEMORY_MOST, READERS, SECONDS_MOST, case, prepare

    options = _options([*READERS])
    workers.MEMORY_MOST, workers.SECONDS_MOST = MEMORY_MOST, SECONDS_MOST + BESIDE_SECONDS
    command_line()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for reader in options.reader or READERS:
            numbers = range(options.first, options.first + options.count)
            if options.again:
                (folder / "again").mkdir()
                case(READERS[reader])(random.Random(f"{reader} {options.first}"), folder / "again")
                return 0
            started = time.monotonic()
            failures = [*workers.failures(reader, case(READERS[reader]), numbers, folder)]
            failed += len(failures)
            measured = folder / "measured.txt"
            slowest = max(map(float, measured.read_text().split()), default=0.0) if measured.exists() else 0.0
            measured.unlink(missing_ok=True)
            print(
                f"{reader}: {len(numbers)} texts, {len(failures)} failed, at most {slowest:.1f} s "
                f"({time.monotonic() - started:.0f} s in all)",
                flush=True,
            )
            for failure in failures:
                print(f"    {reader} {failure.number}: {failure.problem}", flush=True)
    return int(failed > 0)


def _options(readers: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="texts of each reader")
    parser.add_argument("--reader", action="append", choices=readers, help="only this reader; repeatable")
    parser.add_argument("--first", type=int, default=0, help="number of the first text of each reader")
    parser.add_argument(
        "--again", action="store_true", help="try the first text of the reader here, without limits"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
