"""A process that simulates points for another one: a list of them on stdin, their results on stdout, line by line.

It ends when its stdin does, and with that when who started it ends, however that came about.
"""

import json
import sys

from pcielab.sweeps.point import Point


def serve() -> None:
    """Answer until nothing is asked any more."""
    for line in sys.stdin:
        found = [Point(*point).result() for point in json.loads(line)]
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
