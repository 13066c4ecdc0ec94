"""Generates files from ``registers.rdl``: SystemVerilog package, C header, constants, reference page.

With ``--check`` it writes nothing, and the exit code is 1 if a file is stale.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from systemrdl.node import AddrmapNode, FieldNode

from description import DESCRIPTION, NOTE, ROOT, address_map, codes, constants, memories, one_line, registers
from register_package import package


def rust(top: AddrmapNode) -> str:
    """Constants of a Rust module."""
    lines = [f"//! Registers of the FPGA core. {NOTE}", ""]
    for name, value, meaning in constants(top):
        lines += [f"/// {meaning}"] if meaning else []
        lines.append(f"pub const {name}: u32 = {rust_number(value)};")
    return "\n".join(lines) + "\n"


def rust_number(value: int) -> str:
    """A number as clippy wants it: long ones in groups of digits."""
    digits = f"{value:x}"
    return f"0x{value:08x}"[:6] + "_" + f"{value:08x}"[4:] if len(digits) > 4 else f"0x{value:x}"


def c_header(_top: AddrmapNode) -> str:
    """PeakRDL's own header."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "pcielab_registers.h"
        peakrdl = [sys.executable, "-m", "peakrdl", "c-header", str(DESCRIPTION), "-o", str(path)]
        subprocess.run(peakrdl, check=True, stdout=subprocess.DEVNULL)
        return path.read_text()


def access(field: FieldNode) -> str:
    """The access of software: R, W or RW."""
    readable, writable = field.is_sw_readable, field.is_sw_writable
    return ("RW" if writable else "R") if readable else "W"


def page(top: AddrmapNode) -> str:
    """The reference page."""
    lines = [f"<!-- {NOTE} -->", "# Registers of the FPGA core", "", top.get_property("desc"), ""]
    lines += [
        "| address | register | bits | field | access | after reset | meaning |",
        "|---|---|---|---|---|---|---|",
    ]
    for register in registers(top):
        for number, field in enumerate(register.fields()):
            bits = f"{field.high}:{field.low}" if field.width > 1 else str(field.low)
            reset = field.get_property("reset")
            own = field.get_property("desc")
            named = "" if field.inst_name == "value" else f"`{field.inst_name}`"
            meaning = " ".join(part for part in (one_line(register) if number == 0 else "", own) if part)
            names = (f"`0x{register.address_offset:03x}`", f"`{register.inst_name}`") if number == 0 else ("", "")
            after_reset = "" if reset is None else f"`0x{reset:x}`" if reset > 9 else str(reset)
            lines.append("| " + " | ".join([*names, bits, named, access(field), after_reset, meaning]) + " |")
    lines += [
        "",
        "## Memories",
        "",
        "| address | memory | entries of 32 bits | access | meaning |",
        "|---|---|---|---|---|",
    ]
    for memory in memories(top):
        may = "W" if memory.get_property("sw").name == "w" else "R"
        entries = f"{memory.get_property('mementries'):,}"
        lines.append(
            f"| `0x{memory.address_offset:05x}` | `{memory.inst_name}` | {entries} | {may} | {one_line(memory)} |"
        )
    for field, members in codes(top).items():
        lines += ["", f"## Codes of `{field}`", "", "| code | name | meaning |", "|---|---|---|"]
        lines += [f"| {value} | `{name}` | {meaning} |" for name, value, meaning in members]
    return "\n".join(lines) + "\n"


OUTPUTS = {
    "rtl/src/registers_pkg.sv": package,
    "rtl/pcielab_registers.h": c_header,
    "crates/pcie-driver/src/registers.rs": rust,
    "docs/reference/rtl-registers.md": page,
}
"""The outputs, from the root of the repository."""


def main() -> int:
    """Write or check the outputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    check = parser.parse_args().check
    top = address_map()
    stale = []
    for name, make in OUTPUTS.items():
        path, text = ROOT / name, make(top)
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if check and stale:
        print(f"stale: {', '.join(stale)}: run python rtl/generate_registers.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
