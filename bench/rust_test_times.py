"""The processor time of each binary of Rust tests, the slowest first: the Rust half of `make test-times`.

Cargo starts every test binary through this script (`CARGO_TARGET_..._RUNNER`), which measures it.
"""

import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

_RESULTS = "PCIELAB_RUST_TEST_TIMES"
"""The environment variable with the file to which each binary adds a line."""


def timed(command: list[str]) -> int:
    """Run a test binary, and add its processor time and path to the file of results."""
    code = subprocess.run(command, check=False).returncode
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Path(os.environ[_RESULTS]).open("a") as results:
        results.write(f"{usage.ru_utime + usage.ru_stime:.2f}\t{command[0]}\n")
    return code


def table(results: str) -> list[str]:
    """The lines to print for the lines of results: seconds and binary, then the total."""
    rows = [line.split("\t") for line in results.splitlines()]
    seconds = sorted(((float(used), Path(path)) for used, path in rows), reverse=True)
    named = [(used, path.name.rpartition("-")[0] or path.name) for used, path in seconds]
    total = sum(used for used, _ in named)
    return [
        f"{'seconds':>8}  binaries of Rust tests",
        *(f"{used:8.2f}  {name}" for used, name in named if used >= 0.1),
        f"{total:8.1f}  processor seconds of {len(named)} binaries",
    ]


def main(arguments: list[str]) -> int:
    """Run `cargo test` with these arguments, each binary under this script."""
    if _RESULTS in os.environ:
        return timed(arguments)
    host = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    triple = next(line.split()[1] for line in host.splitlines() if line.startswith("host:"))
    runner = f"CARGO_TARGET_{triple.upper().replace('-', '_')}_RUNNER"
    with TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        results.touch()
        environment = os.environ | {_RESULTS: str(results), runner: f"{sys.executable} {Path(__file__).resolve()}"}
        code = subprocess.run(["cargo", "test", *arguments], env=environment, check=False).returncode
        print("\n".join(table(results.read_text())))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
