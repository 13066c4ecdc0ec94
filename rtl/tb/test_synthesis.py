"""Yosys accepts the core for UltraScale+: no latch, and one driver for each net."""

import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synthesize import ROOT, SIZES, Size, gate, yosys


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_core_passes_the_checks(size: Size) -> None:
    yosys(gate(size))


@pytest.mark.slow
def test_latch_is_found() -> None:
    text = "module latch(input a, b, output logic c); always_latch if (a) c = b; endmodule"
    # Yosys runs in a sandbox and sees only its working folder.
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as directory:
        path = Path(directory, "latch.sv")
        path.write_text(text)
        _, *rest = gate(SIZES[0])
        with pytest.raises(RuntimeError, match="Assertion failed"):
            yosys([f"read_slang --threads 1 --top latch {path.relative_to(ROOT)}", *rest])
