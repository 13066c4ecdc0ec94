"""The core as Yosys sees it, for UltraScale+: no latch, nothing with two drivers, nothing without one."""

import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synthesize import ROOT, WIDTHS, gate, yosys


@pytest.mark.slow
@pytest.mark.parametrize("data_width", WIDTHS)
def test_the_core_is_hardware(data_width: int) -> None:
    yosys(gate(data_width))


@pytest.mark.slow
def test_a_latch_is_found() -> None:
    text = "module latch(input a, b, output logic c); always_latch if (a) c = b; endmodule"
    # Yosys, in its sandbox, sees the folder that it runs in.
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as directory:
        path = Path(directory, "latch.sv")
        path.write_text(text)
        _, *rest = gate(256)
        with pytest.raises(RuntimeError, match="Assertion failed"):
            yosys([f"read_slang --threads 1 --top latch {path.relative_to(ROOT)}", *rest])
