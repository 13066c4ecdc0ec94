"""Makes everything that says where a register is from ``registers.rdl``.

The package for SystemVerilog, the C header, the constants for Python and Rust, and the reference page. With
``--check`` nothing is written, and the exit code is 1 if a file is not what it should be.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from systemrdl.node import AddrmapNode, FieldNode, MemNode, RegNode

from description import DESCRIPTION, NOTE, ROOT, address_map, codes, memories, named_fields, registers
from register_package import package


def constants(top: AddrmapNode) -> Iterator[tuple[str, int, str]]:
    """Every number that software needs: name, value, meaning."""
    for register in registers(top):
        yield register.inst_name, register.address_offset, one_line(register)
        for field in named_fields(register):
            stem = f"{register.inst_name}_{field.inst_name.upper()}"
            yield f"{stem}_SHIFT", field.low, f"Place of `{field.inst_name}` in {register.inst_name}."
            yield f"{stem}_MASK", (1 << field.width) - 1, f"What `{field.inst_name}` can hold."
    for memory in memories(top):
        yield memory.inst_name, memory.address_offset, one_line(memory)
        yield f"{memory.inst_name}_ENTRIES", memory.get_property("mementries"), f"Entries of {memory.inst_name}."
    for field, members in codes(top).items():
        for name, value, meaning in members:
            yield f"{field}_{name}".upper(), value, meaning


def one_line(node: RegNode | MemNode) -> str:
    """Name and description of a node, as sentences."""
    description = node.get_property("desc")
    return f"{node.get_property('name')}. {description}" if description else f"{node.get_property('name')}."


def rust(top: AddrmapNode) -> str:
    """Constants of a Rust module."""
    lines = [f"//! Registers of the FPGA core. {NOTE}", ""]
    for name, value, meaning in constants(top):
        lines += [f"/// {meaning}", f"pub const {name}: u32 = {rust_number(value)};"]
    return "\n".join(lines) + "\n"


def rust_number(value: int) -> str:
    """A number as clippy wants it: digits of long ones in groups."""
    digits = f"{value:x}"
    return f"0x{value:08x}"[:6] + "_" + f"{value:08x}"[4:] if len(digits) > 4 else f"0x{value:x}"


def python(top: AddrmapNode) -> str:
    """Constants of a Python module."""
    lines = [f'"""Registers of the FPGA core. {NOTE}"""', ""]
    for name, value, meaning in constants(top):
        lines += [f"{name} = 0x{value:X}", f'"""{meaning}"""']
    return "\n".join(lines) + "\n"


def c_header(_top: AddrmapNode) -> str:
    """PeakRDL's own header."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "pcielab_registers.h"
        command = [
            sys.executable,
            "-m",
            "peakrdl",
            "c-header",
            str(DESCRIPTION),
            "-o",
            str(path),
            "--bitfields",
            "ltoh",
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return path.read_text()


def access(field: FieldNode) -> str:
    """What software may do."""
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
            place = (f"`0x{register.address_offset:03x}`", f"`{register.inst_name}`") if number == 0 else ("", "")
            after_reset = "" if reset is None else f"`0x{reset:x}`" if reset > 9 else str(reset)
            lines.append("| " + " | ".join([*place, bits, named, access(field), after_reset, meaning]) + " |")
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
    "rtl/tb/registers.py": python,
    "crates/pcie-driver/src/registers.rs": rust,
    "docs/reference/rtl-registers.md": page,
}
"""Where each output goes, from the root of the repository."""


def main() -> int:
    """Writes or checks the outputs."""
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
