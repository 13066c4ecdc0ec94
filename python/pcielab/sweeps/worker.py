"""A worker process: reads lists of points on stdin and writes their results on stdout, line by line.

It ends when its stdin closes, and so with its parent.

Stands alone: it is the program of a process.
"""

import json
import sys

from pcielab.sweeps.point import Point


def serve() -> None:
    """Answer until stdin ends."""
    for line in sys.stdin:
        found = [Point(*point).result() for point in json.loads(line)]
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
