"""Writes ``src/registers_pkg.sv``: addresses, codes and structures of the registers, and functions to access them.

Software writes ``settings_t``; the core sets ``status_t`` and software reads it. A number is a member with its
register's name; ``X_LO`` and ``X_HI`` are one member ``x``; a register with fields is a nested structure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from systemrdl.node import AddrmapNode, FieldNode, RegNode

from description import NOTE, codes, memories, registers

HALF_BITS = 32


@dataclass(frozen=True)
class Part:
    """A field of a register, and the bits of a structure's member that it maps to."""

    register: RegNode
    field: FieldNode
    member: str
    """The member of ``settings_t`` or ``status_t``."""
    shift: int
    """32 for the upper half of a member of two registers, else 0."""

    @property
    def path(self) -> str:
        """The member, and its field where it is a structure."""
        name = self.field.inst_name
        return self.member if name == "value" else f"{self.member}.{name}"

    @property
    def structure(self) -> str | None:
        """The structure of the member; none for a constant."""
        if self.field.is_sw_writable:
            return "settings"
        return "status" if self.field.is_hw_writable else None

    @property
    def high(self) -> int:
        """The field's highest bit in the member."""
        return int(self.field.high) + self.shift

    @property
    def low(self) -> int:
        """The field's lowest bit in the member."""
        return int(self.field.low) + self.shift

    @property
    def reset(self) -> int:
        """The value after reset; 0 if the description has none."""
        return int(self.field.get_property("reset") or 0)

    @property
    def value(self) -> str:
        """The field as an expression, in ``settings`` or ``status``."""
        if self.structure is None:
            return f"{self.field.width}'h{self.reset:x}"
        numbered = self.field.inst_name == "value" and self.high > 0
        return f"{self.structure}.{self.path}" + (f"[{self.high}:{self.low}]" if numbered else "")


@dataclass(frozen=True)
class Leaf:
    """A leaf of a structure: an integer or a code."""

    path: str
    type: str
    high: int
    low: int
    reset: int

    @property
    def width(self) -> int:
        """Bits."""
        return self.high - self.low + 1


def parts(top: AddrmapNode) -> Iterator[Part]:
    """Every field of every register."""
    for register in registers(top):
        name = register.inst_name
        member = name.removesuffix("_LO").removesuffix("_HI").lower()
        for field in register.fields():
            yield Part(register, field, member, HALF_BITS if name.endswith("_HI") else 0)


def leaves(top: AddrmapNode, structure: str) -> list[Leaf]:
    """The leaves of ``settings`` or ``status``, the highest first."""
    found = []
    held = (part for part in parts(top) if part.structure == structure)
    for path, group in groupby(held, key=lambda part: part.path):
        halves = list(group)
        # A plain number keeps its bit numbers ([63:12] of an address), a field starts at 0.
        shift = halves[0].low if halves[0].field.inst_name != "value" else 0
        high, low = halves[-1].high - shift, halves[0].low - shift
        reset = sum(half.reset << half.low - shift for half in halves) >> low
        code = halves[0].field.get_property("encode") is not None
        bits = f"logic [{high}:{low}]" if high else "logic"
        found.append(Leaf(path, f"{halves[0].field.inst_name}_t" if code else bits, high, low, reset))
    # Whole words are lowest, aligned to 32 bits, which makes simulators faster.
    return sorted(found, key=lambda leaf: leaf.width % HALF_BITS == 0)


def package(top: AddrmapNode) -> str:
    """The whole file."""
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "`default_nettype none",
        "",
        f"// {NOTE}",
        "package registers_pkg;",
    ]
    lines += [
        f"    localparam logic [16:0] {node.inst_name}_ADDRESS = 17'h{node.address_offset:05x};"
        for node in [*registers(top), *memories(top)]
    ]
    for name, members in codes(top).items():
        width = next(part.field.width for part in parts(top) if part.field.inst_name == name)
        lines += ["", f"    typedef enum logic [{width - 1}:0] {{"]
        lines += [f"        {code.upper()} = {width}'d{value}," for code, value, _ in members]
        lines[-1] = lines[-1].removesuffix(",")
        lines += [f"    }} {name}_t;"]
    lines += ["", "    // Written by software.", *declaration(top, "settings")]
    lines += ["", "    // Set by the core, read by software.", *declaration(top, "status")]
    lines += ["", *reset_value(top), "", *write_function(top)]
    for structure in ("settings", "status"):
        lines += ["", *read_functions(top, structure)]
    lines += ["endpackage", "", "`default_nettype wire"]
    return "\n".join(lines) + "\n"


def by_member(found: list[Leaf]) -> Iterator[tuple[str, list[Leaf]]]:
    """The leaves of each member."""
    for member, group in groupby(found, key=lambda leaf: leaf.path.partition(".")[0]):
        yield member, list(group)


def declaration(top: AddrmapNode, structure: str) -> Iterator[str]:
    """``settings_t`` or ``status_t``."""
    yield "    typedef struct packed {"
    for member, group in by_member(leaves(top, structure)):
        if group[0].path == member:
            yield f"        {group[0].type} {member};"
            continue
        yield "        struct packed {"
        yield from (f"            {leaf.type} {leaf.path.partition('.')[2]};" for leaf in group)
        yield f"        }} {member};"
    yield f"    }} {structure}_t;"


def reset_value(top: AddrmapNode) -> Iterator[str]:
    """The settings after reset."""
    yield "    function automatic settings_t settings_reset();"
    for leaf in leaves(top, "settings"):
        value = f"{leaf.width}'h{leaf.reset:x}"
        value = f"{leaf.type}'({value})" if leaf.type.endswith("_t") else value
        yield f"        settings_reset.{leaf.path} = {value};"
    yield "    endfunction"


def write_function(top: AddrmapNode) -> Iterator[str]:
    """The settings after a write. Pulses of the write before it end."""
    yield "    // The settings once software has written a register. Other addresses change nothing."
    arguments = "settings_t settings, logic [16:0] address, logic [31:0] data"
    yield f"    function automatic settings_t written({arguments});"
    pulses = {part.member for part in parts(top) if part.field.get_property("singlepulse")}
    yield from (f"        settings.{member} = '0;" for member in sorted(pulses))
    yield "        case (address)"
    held = (part for part in parts(top) if part.structure == "settings")
    for name, group in groupby(held, key=lambda part: part.register.inst_name):
        assignments = [f"{part.value} = {taken(part)};" for part in group]
        if len(assignments) == 1:
            yield f"            {name}_ADDRESS: {assignments[0]}"
            continue
        yield f"            {name}_ADDRESS: begin"
        yield from (f"                {assignment}" for assignment in assignments)
        yield "            end"
    yield "            default: ;"
    yield "        endcase"
    yield "        return settings;"
    yield "    endfunction"


def taken(part: Part) -> str:
    """The bits that a write puts into a field."""
    field = part.field
    bits = f"data[{field.high}:{field.low}]" if field.width > 1 else f"data[{field.low}]"
    return f"{field.inst_name}_t'({bits})" if field.get_property("encode") is not None else bits


def read_functions(top: AddrmapNode, structure: str) -> Iterator[str]:
    """The functions that read the registers of one structure; constants count as status."""
    words = {}
    for register, group in groupby(parts(top), key=lambda part: part.register.inst_name):
        fields = [part for part in group if part.field.is_sw_readable]
        if fields and ("settings" if is_setting(fields) else "status") == structure:
            words[register] = word(fields)
    last = len(words) - 1
    yield f"    // A bit for each readable register of {structure}: whether it has the address."
    yield f"    function automatic logic [{last}:0] {structure}_at(logic [16:0] address);"
    yield from (
        f"        {structure}_at[{n}] = address == {register}_ADDRESS;" for n, register in enumerate(words)
    )
    yield "    endfunction"
    yield ""
    yield "    // Reads by software of the register with the bit, and 0 without."
    yield f"    function automatic logic [31:0] read_{structure}({structure}_t {structure}, logic [{last}:0] at);"
    yield f"        read_{structure} = '0;"
    for n, text in enumerate(words.values()):
        yield f"        read_{structure} |= {{32{{at[{n}]}}}} & {text};"
    yield "    endfunction"


def is_setting(fields: list[Part]) -> bool:
    """Whether a register has settings.

    Raises:
        ValueError: It also has status fields, which no read returns with them.
    """
    found = {part.structure for part in fields} - {None}
    if len(found) > 1:
        raise ValueError(f"{fields[0].register.inst_name} has settings and status: put them into two registers")
    return found == {"settings"}


def word(fields: list[Part]) -> str:
    """32 bits with the fields in them."""
    texts, above = [], HALF_BITS
    for part in sorted(fields, key=lambda part: -part.field.low):
        texts += [f"{above - part.field.high - 1}'b0"] if part.field.high + 1 < above else []
        texts.append(part.value)
        above = part.field.low
    texts += [f"{above}'b0"] if above else []
    return f"{{{', '.join(texts)}}}" if len(texts) > 1 else texts[0]
