"""The longest path between registers of a mapped netlist, in levels of logic.

Levels are counted like ``Logic Levels`` of Vivado's timing reports, on the cells that Yosys mapped:

* a LUT, a MUXF7 to MUXF9 and an inverter are a level each, and so is a read of a LUT RAM or of a shift register by
  its address;
* a chain of CARRY8s is one level, however long, because a carry moves to the next CARRY8 on its own wire in
  hundredths of a nanosecond. Vivado counts every CARRY8;
* a DSP48E2 without registers on the way is a level;
* flip-flops, the content of RAMs, block RAMs and registered DSP48E2s start and end paths, and so do the ports of
  the top.

Yosys places and routes nothing, and Vivado maps the same design to other cells: the count compares designs, and a
small one is a condition of closing timing, not a proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Bit = int | str
"""A net, as Yosys numbers them, or a constant ("0", "1", "x")."""

LEVEL = re.compile(r"LUT[1-6]|MUXF[789]|INV")
CARRY = re.compile(r"CARRY[48]")
WIRE = re.compile(r"BUFG|IBUF|OBUF|BUF")
REGISTER = re.compile(r"FD[RSCP]E|RAMB(18|36)E2|DSP48E2")
SHIFT_REGISTER = re.compile(r"SRL16E|SRLC32E")
TABLE_RAM = re.compile(r"RAM(32|64|128|256|512)")
DSP_STAGES = ("AREG", "BREG", "CREG", "DREG", "ADREG", "MREG", "PREG")


@dataclass(frozen=True)
class Path:
    """A longest path: its levels, and the names of its ends and of the nets between."""

    levels: int
    nets: tuple[str, ...]

    @property
    def start(self) -> str:
        """The register, memory or port at which it starts."""
        return self.nets[0]

    @property
    def end(self) -> str:
        """The register, memory or port at which it ends."""
        return self.nets[-1]


@dataclass(frozen=True)
class Arc:
    """A way through a cell to one of its outputs."""

    bits: tuple[Bit, ...]
    levels: int


class Netlist:
    """A flattened module of a netlist that ``write_json`` of Yosys wrote.

    Raises:
        ValueError: It has a type of cells that the rules do not cover.
    """

    def __init__(self, module: Mapping[str, Any]) -> None:
        self.module = module
        self.names = names_of(module)
        self.arcs: dict[Bit, list[Arc]] = {}
        self.ends: dict[Bit, str] = {}
        for name, cell in module["cells"].items():
            self.add(name, cell)
        for name, port in module["ports"].items():
            if port["direction"] == "output":
                self.ends.update(dict.fromkeys(port["bits"], f"port {name}"))
        self.depths: dict[Bit, tuple[int, Bit | None]] = {}

    def add(self, name: str, cell: Mapping[str, Any]) -> None:
        """Add the arcs of a cell; paths end at inputs without an arc, and at the inputs of a memory."""
        ins = {p: b for p, b in cell["connections"].items() if cell["port_directions"][p] == "input"}
        outs = {p: b for p, b in cell["connections"].items() if cell["port_directions"][p] == "output"}
        passed: set[str] = set()
        for port, bits in outs.items():
            for index, bit in enumerate(bits):
                arcs = []
                for read, arc in arcs_to(cell, port, index, ins):
                    passed.add(read)
                    arcs.append(arc)
                if arcs:
                    self.arcs[bit] = arcs
        ending = next((self.names[bit] for bits in outs.values() for bit in bits if bit in self.names), name)
        for port, bits in ins.items():
            if port not in passed or holds(cell["type"]):
                self.ends.update(dict.fromkeys(bits, f"{ending} ({cell['type']}.{port})"))

    def depth(self, bit: Bit) -> int:
        """Levels in front of a net, on its longest path.

        Raises:
            ValueError: The net is part of a loop without a register.
        """
        # Without recursion, because paths are longer than Python's stack.
        work = [(bit, False)]
        open_bits: set[Bit] = set()
        while work:
            at, ready = work.pop()
            if at in self.depths:
                continue
            arcs = self.arcs.get(at, [])
            if ready:
                open_bits.discard(at)
                best: tuple[int, Bit | None] = (0, None)
                for arc in arcs:
                    for before in arc.bits:
                        best = max(best, (self.depths[before][0] + arc.levels, before), key=lambda one: one[0])
                self.depths[at] = best
                continue
            if at in open_bits:
                raise ValueError(f"net {self.names.get(at, at)} is part of a loop without a register")
            open_bits.add(at)
            work.append((at, True))
            work += [(before, False) for arc in arcs for before in arc.bits if before not in self.depths]
        return self.depths[bit][0]

    def path_to(self, bit: Bit) -> Path:
        """The longest path to a net at which paths end."""
        levels, nets = self.depth(bit), [self.ends[bit]]
        at: Bit | None = bit
        while at is not None:
            nets.append(self.names.get(at, f"net {at}"))
            at = self.depths[at][1]
        return Path(levels, tuple(reversed(nets)))

    def longest(self) -> Path:
        """The longest path.

        Raises:
            ValueError: The netlist has a loop without a register, or no path.
        """
        return self.path_to(max(self.ends, key=self.depth))

    def longest_by_end(self) -> list[Path]:
        """The longest path to each register, memory or port, the longest first."""
        found: dict[str, Bit] = {}
        for bit, end in self.ends.items():
            group = re.sub(r"\[\d+\]", "", end)
            if group not in found or self.depth(bit) > self.depth(found[group]):
                found[group] = bit
        return sorted((self.path_to(bit) for bit in found.values()), key=lambda path: -path.levels)


def names_of(module: Mapping[str, Any]) -> dict[Bit, str]:
    """A name for each net: one from the source, if there is one."""
    names: dict[Bit, str] = {}
    listed = sorted(module["netnames"].items(), key=lambda item: (item[1].get("hide_name", 0), len(item[0])))
    for name, net in listed:
        wide = len(net["bits"]) > 1
        for index, bit in enumerate(net["bits"]):
            names.setdefault(bit, f"{name}[{index}]" if wide else name)
    return names


def arcs_to(
    cell: Mapping[str, Any], port: str, index: int, ins: Mapping[str, list[Bit]]
) -> Iterator[tuple[str, Arc]]:
    """Combinational ways to a bit of an output: the input ports, and their nets with the levels from them."""
    kind = cell["type"]
    if LEVEL.fullmatch(kind):
        yield from ((name, Arc(nets(bits), 1)) for name, bits in ins.items())
    elif WIRE.fullmatch(kind):
        yield from ((name, Arc(nets(bits), 0)) for name, bits in ins.items())
    elif CARRY.fullmatch(kind):
        # The carry from another cell of the chain continues a level; a bit depends on the bits below.
        yield from ((name, Arc(nets(ins[name]), 0)) for name in ("CI", "CI_TOP") if name in ins)
        yield from ((name, Arc(nets(ins[name]), 1)) for name in ("CYINIT",) if name in ins)
        yield from ((name, Arc(nets(ins[name][: index + 1]), 1)) for name in ("S", "DI"))
    elif SHIFT_REGISTER.fullmatch(kind):
        if port == "Q":
            yield from ((name, Arc(nets(bits), 1)) for name, bits in ins.items() if name.startswith("A"))
    elif TABLE_RAM.match(kind):
        reads = "DPRA" if port == "DPO" else f"ADDR{port[2:]}" if port.startswith("DO") else "A"
        yield from ((name, Arc(nets(bits), 1)) for name, bits in ins.items() if name.startswith(reads))
    elif kind == "DSP48E2" and not is_registered(cell["parameters"]):
        yield from ((name, Arc(nets(ins[name]), 1)) for name in ("A", "B", "C", "D", "PCIN") if name in ins)
    elif not REGISTER.fullmatch(kind):
        raise ValueError(f"cells of type {kind}: add their levels to rtl/levels.py")


def holds(kind: str) -> bool:
    """Whether a cell is a memory with arcs from some inputs."""
    return bool(SHIFT_REGISTER.fullmatch(kind) or TABLE_RAM.match(kind))


def is_registered(parameters: Mapping[str, str]) -> bool:
    """Whether a register of a DSP48E2 lies between its inputs and its output."""
    return any(int(parameters.get(stage, "0"), 2) for stage in ("PREG", "MREG"))


def nets(bits: list[Bit]) -> tuple[Bit, ...]:
    """The nets of a port that are no constants."""
    return tuple(bit for bit in bits if isinstance(bit, int))
