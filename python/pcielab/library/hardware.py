"""What a vendor and device ID tells of a device: nominal links, soldered uplinks, switches on cards, errata.

`hardware.csv` has a fact per line: vendor, device, name, kind, fact, value, note, source. `device` is an ID, a
range `xxxx-yyyy` with its ends, or `*`; an ID counts before a range, and a small range before a large one.
`source` starts with `(s)` where the source was read for the value, and with `(m)` where the value is general
knowledge. A fact of general knowledge may silence a finding, and never makes one. Adding a fact is a line.
"""

import csv
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

_FILE = Path(__file__).with_name("hardware.csv")
_LINK = re.compile(r"(\d{1,3}(?:\.\d)?) ?GT/s x(\d{1,2})\b")
_VENDORS = {
    "Intel Corporation": 0x8086,
    "Advanced Micro Devices, Inc. [AMD/ATI]": 0x1002,
    "Advanced Micro Devices, Inc. [AMD]": 0x1022,
    "NVIDIA Corporation": 0x10DE,
    "Mellanox Technologies": 0x15B3,
    "Realtek Semiconductor Co., Ltd.": 0x10EC,
    "Broadcom Inc. and subsidiaries": 0x14E4,
    "Samsung Electronics Co Ltd": 0x144D,
    "ASMedia Technology Inc.": 0x1B21,
    "Pericom Semiconductor": 0x12D8,
    "Silicon Motion, Inc.": 0x126F,
    "Sandisk Corp": 0x15B7,
    "Micron Technology Inc": 0x1344,
    "Micron/Crucial Technology": 0xC0A9,
    "Kingston Technology Company, Inc.": 0x2646,
    "Phison Electronics Corporation": 0x1987,
    "SK hynix": 0x1C5C,
    "KIOXIA Corporation": 0x1E0F,
    "PLX Technology, Inc.": 0x10B5,
    "Microsemi / PMC / IDT": 0x111D,
    "Solarflare Communications": 0x1924,
    "Chelsio Communications Inc": 0x1425,
    "Xilinx Corporation": 0x10EE,
    "Aquantia Corp.": 0x1D6A,
    "Marvell Technology Group Ltd.": 0x11AB,
    "ASPEED Technology, Inc.": 0x1A03,
    "Amazon.com, Inc.": 0x1D0F,
}
"""Vendors as lspci names them in a text without IDs."""
_NUMBERED = re.compile(r"Device ([0-9a-f]{4})\b")
_DETAIL = re.compile(r" \((?:rev|prog-if) [^)]*\)$")


@dataclass(frozen=True)
class Fact:
    """A line of the table.

    Attributes:
        name: The device, as `pci.ids` names it, or a short label.
        kind: gpu, nic, nvme, switch, chipset-port...
        fact: What it is about: `nominal_link`, `chipset_uplink`, `erratum_aspm`...
        value: The value.
        note: More about it.
        source: Where it is from.
    """

    name: str
    kind: str
    fact: str
    value: str
    note: str
    source: str

    @property
    def is_read(self) -> bool:
        """Whether the source was read for the value; otherwise it is general knowledge."""
        return self.source.startswith("(s)")

    @property
    def links(self) -> tuple[tuple[float, int], ...]:
        """Speeds, GT/s, and widths that the value names."""
        return tuple((float(found[1]), int(found[2])) for found in _LINK.finditer(self.value))


@dataclass(frozen=True)
class _Range:
    first: int
    last: int
    fact: Fact


@cache
def _table() -> dict[int, list[_Range]]:
    """The facts of each vendor, those of small ranges first."""
    found: defaultdict[int, list[_Range]] = defaultdict(list)
    with _FILE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            first, _, last = row["device"].partition("-")
            ends = (0, 0xFFFF) if first == "*" else (int(first, 16), int(last or first, 16))
            fact = Fact(row["name"], row["kind"], row["fact"], row["value"], row["note"], row["source"])
            found[int(row["vendor"], 16)].append(_Range(*ends, fact))
    return {vendor: sorted(rows, key=lambda one: one.last - one.first) for vendor, rows in found.items()}


@cache
def _names() -> dict[tuple[int, str], int]:
    """The device of each vendor's names, from the lines of a single ID."""
    found: dict[tuple[int, str], int] = {}
    for vendor, rows in _table().items():
        for row in rows:
            if row.first == row.last and row.fact.name:
                found.setdefault((vendor, row.fact.name), row.first)
    return found


@lru_cache(maxsize=2048)
def facts(vendor: int | None, device: int | None) -> dict[str, Fact]:
    """The facts of a device by what they are about; empty if it is not listed."""
    found: dict[str, Fact] = {}
    if vendor is None or device is None:
        return found
    for row in _table().get(vendor, ()):
        if row.first <= device <= row.last:
            found.setdefault(row.fact.fact, row.fact)
    return found


@lru_cache(maxsize=2048)
def ids_of_name(name: str) -> tuple[int | None, int | None]:
    """The vendor and device of a name without IDs, as `Intel Corporation Device 4fa0`; None if unknown."""
    known = next((vendor for vendor in _VENDORS if name.startswith(f"{vendor} ")), None)
    if known is None:
        return None, None
    vendor, rest = _VENDORS[known], _DETAIL.sub("", name.removeprefix(known).strip())
    numbered = _NUMBERED.match(rest)
    return vendor, int(numbered[1], 16) if numbered else _names().get((vendor, rest))
