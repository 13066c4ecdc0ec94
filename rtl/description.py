"""Reads ``registers.rdl``, the description of the registers; ``generate_registers.py`` writes what follows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from systemrdl import RDLCompiler
from systemrdl.node import AddrmapNode, FieldNode, MemNode, RegNode

ROOT = Path(__file__).resolve().parent.parent
DESCRIPTION = ROOT / "rtl" / "registers.rdl"
NOTE = "Made by rtl/generate_registers.py from rtl/registers.rdl."


def address_map() -> AddrmapNode:
    """The elaborated description."""
    compiler = RDLCompiler()
    compiler.compile_file(str(DESCRIPTION))
    return compiler.elaborate().top


def registers(top: AddrmapNode) -> Iterator[RegNode]:
    """The registers, by address."""
    return (node for node in top.children() if isinstance(node, RegNode))


def memories(top: AddrmapNode) -> Iterator[MemNode]:
    """The memories, by address."""
    return (node for node in top.children() if isinstance(node, MemNode))


def named_fields(register: RegNode) -> Iterator[FieldNode]:
    """The fields of a register that is more than a number."""
    return (field for field in register.fields() if field.inst_name != "value")


def codes(top: AddrmapNode) -> dict[str, list[tuple[str, int, str]]]:
    """The enumerations: by the name of the field, each code's name, value and meaning."""
    found = {}
    for register in registers(top):
        for field in register.fields():
            encoding = field.get_property("encode")
            if encoding is not None:
                found[field.inst_name] = [
                    (member.name, member.value, member.rdl_desc or "") for member in encoding
                ]
    return found
