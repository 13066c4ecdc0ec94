"""Find the functions in a text of lspci, whatever surrounds them, and the registers of each.

No register may end up under another function than its own. So a function ends at a blank line, at a prompt, at any
line that starts with a slot, and where a register comes that it already has, as after a lost header. Registers
without a header belong to an unnamed function, or to the slot that the command before them names.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pcielab.errors import refusal
from pcielab.library.copied_lspci import SLOT, as_printed
from pcielab.wording import printable

UNNAMED_DOMAIN = "fffffffe"
"""Domain of functions whose slot the text does not show; no machine has it."""
_HEADER = re.compile(
    rf"(?P<path>(?:{SLOT}|[0-9a-f]{{2}}:[0-9a-f]{{2}}\.[0-7])/(?:(?:[0-9a-f]{{2}}:)?[0-9a-f]{{2}}\.[0-7]/)*)?"
    r"(?P<slot>(?:(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:)?[0-9a-f]{2}\.[0-7]) (?P<title>\S.*)"
)
_TITLE = re.compile(r"(?:(?:(?:[A-Z]|3D )[^:]{1,90}|[0-9a-f]{4}|Class [0-9a-f]{4}):(?:\s|$)|\"[^\"]{1,90}\" \")")
_STARTS_WITH_SLOT = re.compile(rf"(?:{SLOT}/?)+(?:\s|$)")
_COMMAND = re.compile(r"(?:^|[$#%>] *)(?:sudo +)?\S*(?:lspci|setpci)\b(?P<options>.*)")
_SELECTED = re.compile(r"-s *(?P<slot>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b", re.IGNORECASE)
_PROMPT = re.compile(r"(?:\[?[\w.-]+@[\w.-]+[^$#\n]{0,60}|[~/][^$#\n]{0,40}|)[$#] +(?:sudo +)?[a-z./]")
_REGISTER = re.compile(
    r"(?P<indentation> *)(?P<name>[A-Z][A-Za-z]+\d?|L1SubCap|L1SubCtl[12]):(?:\s+(?P<value>.*))?$"
)
_INDENTATION = 16
"""Blanks before a register; deeper lines continue it."""
_REGISTERS = {
    *("DevCap", "DevCtl", "DevSta", "DevCap2", "DevCtl2", "DevCap3", "DevCtl3", "DevSta3"),
    *("LnkCap", "LnkCtl", "LnkSta", "LnkCap2", "LnkCtl2", "LnkSta2", "LnkCtl3", "LaneErrStat"),
    *("SltCap", "SltCtl", "SltSta", "RootCap", "RootCtl", "RootSta", "RootCmd", "ErrorSrc"),
    *("UESta", "UEMsk", "UESvrt", "CESta", "CEMsk", "AERCap", "HeaderLog"),
    *("ACSCap", "ACSCtl", "ARICap", "ARICtl", "CXLCap", "CXLCtl", "CXLSta", "DpcCap", "DpcCtl", "DpcSta"),
    *("L1SubCap", "L1SubCtl1", "L1SubCtl2"),
}
"""Registers that are found in a text without its indentation, too."""
_AFTER_REGISTERS = ("Capabilities:", "Kernel driver in use:", "Kernel modules:")
_ONCE = re.compile(
    r"\s*(?P<mark>Control: I/O|Status: Cap[+-]|Bus: primary=|Kernel driver in use:|DeviceName:|"
    r"Flags: (?:bus master|fast devsel|medium devsel|slow devsel|66MHz|VGA palette|user-definable)|"
    r"Capabilities: \[[0-9a-f]{2,3}\] "
    r"Express|(?:DevCap|DevCtl|LnkCap|LnkCtl|LnkSta|DevCap2|DevCtl2|LnkCtl2|CESta|UESta|ACSCtl):)"
)
"""What a function has once: a second one belongs to another function, whose header is lost."""
_INSIDE = re.compile(
    r"\s*(?:Control: I/O|Status: Cap|Bus: primary=|Capabilities: \[|Region \d: |Kernel driver in use:|"
    r"Flags: (?:bus master|fast devsel)|NUMA node: |IOMMU group: |Interrupt: pin |Latency: \d|"
    r"(?:I/O|Memory|Prefetchable memory) behind bridge: )"
)
_KEY = re.compile(r"\s*[A-Z!][\w!/ -]{1,40}: |\s*[A-Z]\w+:$")
_HEX = re.compile(r"\s*(?P<offset>[0-9a-f]{2,3}): (?P<bytes>(?:[0-9a-f]{2} ){0,15}[0-9a-f]{2})$")
_MACHINE_READABLE = re.compile(r"\"([^\"]*)\"")
_MOST_LINES, _MOST_LETTERS = 1_000_000, 4096
_MOST_WRAPPED = 16
"""Lines that may continue a header; a forum that shows 20 letters a line needs ten."""
_SPACE_BYTES = 4096
_AROUND, _MOST_BLANK = 8, 0.32
"""Lines on each side, and the share of blank ones above which they say nothing."""
COMMAND = "sudo lspci -vvv"


@dataclass(frozen=True)
class Block:
    """What a text shows of one function.

    Attributes:
        slot: Domain, bus, device and function as shown; made up for an unnamed function.
        title: Class and name; `(no header)` for an unnamed function.
        text: Its lines.
        line: Its first line.
        below: The slot of the port above, from `lspci -PP`.
    """

    slot: str
    title: str
    text: str
    line: int = 1
    below: str | None = None

    @cached_property
    def registers(self) -> dict[str, str]:
        """Text of each decoded register, continuation lines included: `DevCtl`, `LnkSta`, `AERCap`..."""
        return _registers(self.text.split("\n")[1:])

    @cached_property
    def space(self) -> bytes:
        """The start of its configuration space, from a hex dump (`-x` to `-xxxx`); empty without one."""
        space, known = bytearray(_SPACE_BYTES), 0
        for line in self.text.split("\n")[1:]:
            found = _HEX.match(line)
            if found and int(found["offset"], 16) == known:
                row = bytes.fromhex(found["bytes"])
                space[known : known + len(row)] = row
                known += len(row)
        return bytes(space[:known])

    @property
    def is_unnamed(self) -> bool:
        """Whether the text does not show its slot."""
        return self.slot.startswith(UNNAMED_DOMAIN)

    @property
    def is_rich(self) -> bool:
        """Whether it shows more than a header."""
        return bool(self.registers or self.space)


def blocks(text: str) -> list[Block]:
    """Every function of a text, in its order; a slot may come several times.

    Raises:
        InputError: The text is too long.
    """
    if text.count("\n") > _MOST_LINES:
        raise refusal("too-large", f"more than {_MOST_LINES} lines: give the output of `{COMMAND}` on one machine")
    lines = [line[:_MOST_LETTERS] for line in as_printed(text).split("\n")]
    return _Finder(lines).found()


@dataclass
class _Open:
    """A function while its lines are collected."""

    line: int
    slot: str | None
    path: str | None
    lines: list[str]
    marks: set[str] = field(default_factory=set)


@dataclass
class _Finder:
    """Walks through the lines; `_block` is the open function, `_selected` the slot that the last command names."""

    lines: Sequence[str]
    _closed: list[_Open] = field(default_factory=list)
    _block: _Open | None = None
    _selected: str | None = None

    def found(self) -> list[Block]:
        for number, line in enumerate(self.lines, start=1):
            if not line.strip():
                if not self._is_double_spaced(number - 1):
                    self._close()
                continue
            self._take(number, line)
        self._close()
        return list(_named(self._closed))

    def _take(self, number: int, line: str) -> None:
        header = self._header(number, line)
        if header is not None:
            self._close()
            self._selected = None
            self._block = _Open(number, header["slot"], header["path"], [line])
        elif _STARTS_WITH_SLOT.match(line):
            # A header that is not understood: what follows belongs to it.
            self._close()
            self._block = _Open(number, None, None, ["(no header)"])
        elif (command := _COMMAND.search(line)) is not None and not _INSIDE.match(line):
            self._close()
            selected = _SELECTED.search(command["options"])
            self._selected = selected["slot"].lower() if selected else None
        elif _PROMPT.match(line):
            self._close()
            self._selected = None
        else:
            self._inside(number, line)

    def _inside(self, number: int, line: str) -> None:
        mark = _ONCE.match(line)
        if self._block is not None and mark is not None and mark["mark"] in self._block.marks:
            self._close()
            self._selected = None
        if self._block is None:
            if not (_INSIDE.match(line) or _is_register(line) or _HEX.match(line)):
                return
            self._block = _Open(number, self._selected, None, ["(no header)"])
        if mark is not None:
            self._block.marks.add(mark["mark"])
        self._block.lines.append(line)

    def _header(self, number: int, line: str) -> re.Match[str] | None:
        header = _HEADER.match(line)
        if header is None or (header["path"] is None and ":" not in header["slot"]):
            return None
        following = self.lines[number].strip() if number < len(self.lines) else ""
        whole = f"{header['title']} {following}" if following and not _KEY.match(following) else header["title"]
        return header if _TITLE.match(header["title"]) or _TITLE.match(whole) else None

    def _is_double_spaced(self, index: int) -> bool:
        """Whether blank lines are as frequent around a line as where a form makes two of each line end."""
        around = self.lines[max(0, index - _AROUND) : index + _AROUND + 1]
        return sum(not line.strip() for line in around) > _MOST_BLANK * len(around)

    def _close(self) -> None:
        if self._block is not None:
            self._closed.append(self._block)
        self._block = None


def _named(found: Sequence[_Open]) -> Iterator[Block]:
    """The functions with their slots; those without a header get one of their own if they have registers."""
    below: dict[str, tuple[str, int]] = {}
    made: dict[str, str] = {}
    for block in found:
        text = _with_whole_title(block.lines)
        title = _title(text[0]) if block.path is not None or text[0] != "(no header)" else text[0]
        slot, above = block.slot, None
        if slot is not None and block.path is not None:
            slot, above = _of_path(block.path, slot, below)
        if slot is None:
            if not any(_is_register(line) or _HEX.match(line) for line in text[1:]):
                continue
            # A bridge that comes twice, as before and after a change, shows the same buses.
            buses_shown = next((line.strip() for line in text if "Bus: primary=" in line), f"number {len(made)}")
            slot = made.setdefault(buses_shown, _made_slot(text, len(made)))
        joined = "\n".join([printable(text[0]), *text[1:]])
        buses = re.search(r"\bsecondary=([0-9a-f]{2}),", joined)
        if buses:
            key = f"{block.path or ''}{block.slot}"
            below[key] = (slot.rpartition(":")[0].rpartition(":")[0] or "0000", int(buses[1], 16))
        yield Block(slot, title, joined, block.line, above)


def _of_path(path: str, slot: str, below: dict[str, tuple[str, int]]) -> tuple[str | None, str | None]:
    """The slot of a function of `lspci -P` or `-PP`, and that of the port above; None if its bus is not shown."""
    ports = path.rstrip("/").split("/")
    domain = ports[0].rpartition(":")[0].rpartition(":")[0] or "0000"
    if slot.count(":") == 0:
        bus = below.get("/".join(ports))
        slot = f"{bus[1]:02x}:{slot}" if bus else ""
    above = ports[-1] if ports[-1].count(":") else None
    full = f"{domain}:{slot}" if slot and slot.count(":") == 1 else slot
    return full or None, above and (above if above.count(":") == 2 else f"{domain}:{above}")


def _made_slot(text: Sequence[str], number: int) -> str:
    buses = next((found for line in text if (found := re.search(r"Bus: primary=([0-9a-f]{2})", line))), None)
    bus = int(buses[1], 16) if buses else 0
    return f"{UNNAMED_DOMAIN}:{bus:02x}:{number % 32:02x}.{number // 32 % 8}"


def _with_whole_title(lines: Sequence[str]) -> list[str]:
    """The lines, with a header that was wrapped as one line."""
    first, rest = lines[0], list(lines[1:])
    wrapped = 0
    while wrapped < min(len(rest), _MOST_WRAPPED) and first != "(no header)" and _continues(first, rest[wrapped]):
        first = f"{first} {rest[wrapped].strip()}"
        wrapped += 1
    return [first, *rest[wrapped:]]


def _continues(header: str, line: str) -> bool:
    is_whole = re.search(r"\(prog-if [^)]*\)$", header) is not None
    return not (is_whole or _KEY.match(line) or _HEX.match(line) or line.startswith("\t") or "!!!" in line)


def _title(header: str) -> str:
    title = header.partition(" ")[2]
    if title.startswith('"'):
        parts = _MACHINE_READABLE.findall(title)
        return f"{parts[0]}: {' '.join(parts[1:3])}"
    return title


def _is_register(line: str) -> bool:
    found = _REGISTER.match(line.expandtabs())
    return found is not None and found["name"] in _REGISTERS


def _registers(lines: Sequence[str]) -> dict[str, str]:
    registers: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        register = _REGISTER.match(line.expandtabs())
        if register and (len(register["indentation"]) == _INDENTATION or register["name"] in _REGISTERS):
            value = register["value"] or ""
            # The root status of the error capability has the name of that of the PCI Express capability.
            key = "RootErrSta" if register["name"] == "RootSta" and "CERcvd" in value else register["name"]
            # The first register of a name counts: several capabilities have `Caps`.
            name = "" if key in registers else key
            registers.setdefault(key, [value])
        elif name and not line.lstrip().startswith(_AFTER_REGISTERS):
            registers[name].append(line.strip())
        else:
            name = ""
    return {name: " ".join(parts) for name, parts in registers.items()}
