"""Run a build with its output in a file, and show how far it is: `shown_build.py LOG COMMAND...`.

A first build compiles some 200 crates in minutes. On a terminal, one line counts them; elsewhere, a line follows
each half minute. If the build fails, its output is printed, and its exit status is this script's.
"""

import subprocess
import sys
import time
from pathlib import Path

_EACH_S = 30


def main(log: str, *command: str) -> int:
    """Run the command; its exit status."""
    path, crates, start = Path(log), 0, time.monotonic()
    shown = start
    with path.open("w", encoding="utf-8") as file:
        build = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        assert build.stdout is not None
        for line in build.stdout:
            file.write(line)
            words = line.split()
            if words[:1] != ["Compiling"]:
                continue
            crates, now = crates + 1, time.monotonic()
            if sys.stderr.isatty():
                print(f"\rcompiling: {crates} crates, {words[1]:<30.30}", end="", file=sys.stderr, flush=True)
            elif now - shown > _EACH_S:
                shown = now
                print(f"compiling: {crates} crates in {now - start:.0f} s", file=sys.stderr, flush=True)
        status = build.wait()
    took = f"compiled {crates} crates in {time.monotonic() - start:.0f} s"
    if crates:
        print(f"\r{took:<60}" if sys.stderr.isatty() else took, file=sys.stderr)
    if status:
        print(path.read_text(encoding="utf-8"), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
