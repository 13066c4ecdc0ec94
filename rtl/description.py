"""Reads ``registers.rdl``, the description of the registers."""

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
    """The named fields of a register; none if it is a plain number."""
    return (field for field in register.fields() if field.inst_name != "value")


def codes(top: AddrmapNode) -> dict[str, list[tuple[str, int, str]]]:
    """The enumerations, by field: name, value and meaning of each code."""
    found = {}
    for register in registers(top):
        for field in register.fields():
            encoding = field.get_property("encode")
            if encoding is not None:
                found[field.inst_name] = [(code.name, code.value, code.rdl_desc or "") for code in encoding]
    return found


def constants(top: AddrmapNode) -> Iterator[tuple[str, int, str]]:
    """Constants for software: name, value, meaning; the meaning is empty where it would repeat the name."""
    for register in registers(top):
        yield register.inst_name, register.address_offset, one_line(register)
        for field in named_fields(register):
            stem = f"{register.inst_name}_{field.inst_name.upper()}"
            yield f"{stem}_SHIFT", field.low, ""
            yield f"{stem}_MASK", (1 << field.width) - 1, ""
    for memory in memories(top):
        yield memory.inst_name, memory.address_offset, one_line(memory)
        yield f"{memory.inst_name}_ENTRIES", memory.get_property("mementries"), ""
    for field, members in codes(top).items():
        for name, value, meaning in members:
            yield f"{field}_{name}".upper(), value, meaning


def one_line(node: RegNode | MemNode) -> str:
    """Name and description of a node, as sentences."""
    description = node.get_property("desc")
    return f"{node.get_property('name')}. {description}" if description else f"{node.get_property('name')}."
