"""Builds ``pcielab-rtl``, the verilated core with its program: ``make rtl``, into ``target/rtl``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "tb"))

from simulator import sources, use_verilator  # noqa: E402

CLOCK_PS = 4000


def main() -> int:
    """Build one executable."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-width", type=int, default=256, choices=[256, 512], help="bits of a beat")
    parser.add_argument("--tags", type=int, default=64, choices=[32, 64, 128, 256], help="reads in flight")
    parser.add_argument("--records", type=int, default=4096, choices=[4096, 8192, 16384], help="latencies kept")
    parser.add_argument("--memory-bytes", type=int, default=2 << 20, help="bytes of the memory of commands")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "target" / "rtl" / "pcielab-rtl")
    chosen = parser.parse_args()
    use_verilator()
    directory = chosen.output.parent / f"{chosen.output.name}.build"
    directory.mkdir(parents=True, exist_ok=True)
    shared = {"TAGS": chosen.tags, "RECORDS": chosen.records, "CLOCK_PS": CLOCK_PS}
    parameters = {"DATA_WIDTH": chosen.data_width, **shared}
    parameters["MEMORY_BYTES"] = chosen.memory_bytes
    macros = {"DATA_BYTES": chosen.data_width // 8, **shared}
    command = ["verilator", "--cc", "--exe", "--build", "-O3", "--Wno-fatal", "--x-assign", "fast"]
    command += [
        "--output-split",
        "0",
        "--top-module",
        "pcielab_core",
        "--Mdir",
        str(directory),
        "-o",
        str(chosen.output.resolve()),
    ]
    command += [f"-G{key}={value}" for key, value in parameters.items()]
    flags = " ".join(["-std=c++17", "-O2", *(f"-D{key}={value}" for key, value in macros.items())])
    command += ["-CFLAGS", flags, *map(str, sources()), str(HERE / "main.cpp")]
    log = directory / "build.log"
    with log.open("w") as text:
        done = subprocess.run(command, stdout=text, stderr=subprocess.STDOUT, env=os.environ, check=False)
    if done.returncode:
        print(log.read_text(), file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
