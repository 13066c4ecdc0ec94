"""Machine code of sm_75 and later, as far as tests count it: loads, stores and readings of clocks, in order.

A cubin is an ELF file with a section for each kernel. An instruction has 16 bytes. Bits 0 to 8 are its opcode, the
bits above them the addressing of operands; bits 72 to 79 the special register that it reads; bits 73 to 75 the
size that it moves. Bit 80 is set if it is ordered with other processors and the host. Found by experiment, and
checked against nvdisasm, for sm_75 to sm_120.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_LOADS, _STORES = {0x181: "load", 0x180: "load"}, {0x186: "store", 0x185: "store"}
_SPECIAL = {0x005, 0x0CB, 0x119, 0x1C3}
_REGISTERS = {0x50: "clock", 0x52: "timer"}
_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 8, 6: 16}


@dataclass(frozen=True)
class Instruction:
    """A `load` or `store` with its size, or a reading of `clock` or `timer`."""

    name: str
    size_bytes: int = 0
    ordered: bool = False


def instructions(cubin: bytes, kernel: str) -> list[Instruction]:
    """The instructions of a kernel, in order."""
    return [found for word in _words(_section(cubin, f".text.{kernel}")) if (found := _decoded(*word)) is not None]


def clock_distances(cubin: bytes, kernel: str) -> list[int]:
    """The numbers of instructions, of every kind, between each reading of the clock and the next."""
    code = enumerate(_words(_section(cubin, f".text.{kernel}")))
    at = [place for place, word in code if (found := _decoded(*word)) is not None and found.name == "clock"]
    return [second - first - 1 for first, second in pairwise(at)]


def kernels(cubin: bytes) -> list[str]:
    """Names of the kernels of a cubin."""
    return [name.removeprefix(".text.") for name, _, _ in _sections(cubin) if name.startswith(".text.")]


def ptx_instructions(ptx: bytes, kernel: str, instruction: str) -> int:
    """The number of times that an instruction occurs in the PTX of a kernel."""
    [body] = re.findall(rf"\.entry {kernel}\(.*?^}}", ptx.decode(), re.DOTALL | re.MULTILINE)
    return len(re.findall(rf"^\s*(?:@\S+ )?{re.escape(instruction)}\s", body, re.MULTILINE))


def _decoded(low: int, high: int) -> Instruction | None:
    opcode = low & 0x1FF
    if opcode in _SPECIAL and (register := _REGISTERS.get(high >> 8 & 0xFF)):
        return Instruction(register)
    name = _LOADS.get(opcode) or _STORES.get(opcode)
    return Instruction(name, _BYTES[high >> 9 & 7], bool(high >> 16 & 1)) if name else None


def _words(code: bytes) -> Iterator[tuple[int, int]]:
    return struct.iter_unpack("<QQ", code)


def _section(cubin: bytes, wanted: str) -> bytes:
    [found] = [cubin[start : start + size] for name, start, size in _sections(cubin) if name == wanted]
    return found


def _sections(cubin: bytes) -> Iterator[tuple[str, int, int]]:
    """Name, offset and size of every section of an ELF file of 64 bits."""
    assert cubin[:5] == b"\x7fELF\x02"
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    entry_size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + n * entry_size) for n in range(count)]
    texts = headers[names][4]
    for name, _kind, _flags, _address, start, size in headers:
        end = cubin.index(b"\0", texts + name)
        yield cubin[texts + name : end].decode(), start, size
