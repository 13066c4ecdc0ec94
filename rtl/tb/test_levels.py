"""Levels of logic: each kind of cell counts as documented, in small netlists and in one that Yosys mapped."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from levels import Netlist
from synthesize import ROOT, yosys

OUTPUTS = {"O", "CO", "Q", "DPO", "SPO", "P", "DOA"}


def module(*cells: tuple[str, dict[str, Any]], parameters: dict[str, str] | None = None) -> dict[str, Any]:
    """A netlist with cells in order; nets are numbers, those below 10 ports of the top."""
    return {
        "ports": {"in": {"direction": "input", "bits": list(range(2, 6))}},
        "netnames": {f"net_{n}": {"bits": [n]} for n in range(2, 60)},
        "cells": {
            f"cell_{n}": {
                "type": kind,
                "parameters": parameters or {},
                "port_directions": {name: "output" if name in OUTPUTS else "input" for name in connections},
                "connections": {
                    name: bits if isinstance(bits, list) else [bits] for name, bits in connections.items()
                },
            }
            for n, (kind, connections) in enumerate(cells)
        },
    }


FLOP = ("FDRE", {"D": 2, "Q": 10})
LUT = ("LUT1", {"I0": 10, "O": 11})
CASES = {
    "flip-flop alone": ([FLOP], 0),
    "two LUTs": ([FLOP, LUT, ("LUT2", {"I0": 11, "I1": 3, "O": 12}), ("FDRE", {"D": 12, "Q": 13})], 2),
    "mux of a LUT": (
        [FLOP, LUT, ("MUXF7", {"I0": 11, "I1": 3, "S": 4, "O": 12}), ("FDRE", {"D": 12, "Q": 13})],
        2,
    ),
    "carry chain is one level": (
        [
            FLOP,
            LUT,
            ("CARRY8", {"CI": "0", "S": [11, 3], "DI": [2, 2], "O": [12, 13], "CO": [14, 15]}),
            ("CARRY8", {"CI": 15, "S": [4, 5], "DI": [2, 2], "O": [16, 17], "CO": [18, 19]}),
            ("FDRE", {"D": 17, "Q": 20}),
        ],
        2,
    ),
    "lower bits do not depend on upper ones": (
        [
            FLOP,
            LUT,
            ("LUT1", {"I0": 11, "O": 12}),
            ("CARRY4", {"CI": "0", "S": [3, 12], "DI": [2, 2], "O": [13, 14], "CO": [15, 16]}),
            ("FDRE", {"D": 13, "Q": 17}),
            ("FDRE", {"D": 12, "Q": 18}),
        ],
        2,
    ),
    "address of a LUT RAM": (
        [FLOP, ("RAM64M8", {"ADDRA": [10], "DIA": 2, "DOA": 11}), ("FDRE", {"D": 11, "Q": 12})],
        1,
    ),
    "write of a LUT RAM ends": (
        [FLOP, LUT, ("RAM64X1D", {"DPRA0": 2, "D": 11, "DPO": 12}), ("LUT1", {"I0": 12, "O": 13})],
        1,
    ),
    "block RAM starts and ends": (
        [("RAMB36E2", {"ADDRARDADDR": [2], "DOA": [10]}), LUT, ("RAMB36E2", {"ADDRARDADDR": [11], "DOA": [12]})],
        1,
    ),
    "multiplier without registers": (
        [FLOP, ("DSP48E2", {"A": [10], "P": [11]}), ("LUT1", {"I0": 11, "O": 12}), ("FDRE", {"D": 12, "Q": 13})],
        2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_cells_count_as_documented(name: str) -> None:
    cells, levels = CASES[name]
    assert Netlist(module(*cells)).longest().levels == levels


def test_registered_multiplier_ends_and_starts_a_path() -> None:
    cells = [
        FLOP,
        ("DSP48E2", {"A": [10], "P": [11]}),
        ("LUT1", {"I0": 11, "O": 12}),
        ("FDRE", {"D": 12, "Q": 13}),
    ]
    assert Netlist(module(*cells, parameters={"PREG": "1"})).longest().levels == 1


def test_path_names_its_ends() -> None:
    cells = [FLOP, ("LUT1", {"I0": 10, "O": 11}), ("FDRE", {"D": 11, "Q": 12})]
    path = Netlist(module(*cells)).longest()
    assert (path.start, path.end) == ("net_10", "net_12 (FDRE.D)")


def test_loop_is_refused() -> None:
    cells = [("LUT1", {"I0": 11, "O": 10}), ("LUT1", {"I0": 10, "O": 11}), ("FDRE", {"D": 11, "Q": 12})]
    with pytest.raises(ValueError, match="loop without a register"):
        Netlist(module(*cells)).longest()


def test_unknown_cell_is_refused() -> None:
    with pytest.raises(ValueError, match="URAM288"):
        Netlist(module(("URAM288", {"A": 2, "Q": 10})))


@pytest.mark.slow
def test_levels_of_a_mapped_design() -> None:
    text = """module top(input clk, input [31:0] a, b, output logic [31:0] sum, output logic odd);
        logic [31:0] c, d;
        always_ff @(posedge clk) begin
            {c, d} <= {a, b};
            sum <= c + d;
            odd <= ^sum[5:0];
        end
    endmodule"""
    # Yosys runs in a sandbox and sees only its working folder.
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as directory:
        source, netlist = Path(directory, "top.sv"), Path(directory, "top.json")
        source.write_text(text)
        commands = [f"read_slang --threads 1 --top top {source.relative_to(ROOT)}"]
        yosys(
            [*commands, "synth_xilinx -family xcup -flatten -top top", f"write_json {netlist.relative_to(ROOT)}"]
        )
        found = Netlist(json.loads(netlist.read_text())["modules"]["top"])
    # An adder is a LUT and a chain; the parity of six bits is a LUT.
    assert found.longest().levels == 2
