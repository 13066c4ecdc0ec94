"""Simulate the flows of random machines and hold the closed form to them: `make random-machines`."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from random_machines import compared

MOST_OVER_ESTIMATE = 1.01
MOST_OVER_EDGES = 1 + 1e-9


def main() -> int:
    """Print the machines beyond the limits, and the worst of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    count = parser.parse_args().count
    found = [compared(number) for number in range(count)]
    beyond = [one for one in found if one.over_estimate > MOST_OVER_ESTIMATE or one.over_edges > MOST_OVER_EDGES]
    for one in beyond:
        print(
            f"machine {one.number}: {one.worst}: {one.over_estimate:.4f} of the estimate, "
            f"{one.over_edges:.9f} of the fullest edge"
        )
    worst = max(found, key=lambda one: one.over_estimate)
    print(
        f"{count} machines, {len(beyond)} beyond; worst: machine {worst.number}, "
        f"{worst.over_estimate:.4f} of the estimate"
    )
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
