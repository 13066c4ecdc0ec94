"""The tables of nvbandwidth, and what the names of its tests say."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from pcielab.errors import refusal
from pcielab.formats.importers.tools.writing import GIGABYTES_GBPS, Measurement
from pcielab.kinds.tools.rows import Beside, Counted, Direction, Engine, MeasuredSetting
from pcielab.wording import shown

FIRST_VERSION, LAST_VERSION = (0, 2), (0, 10)
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:[.\-+][\w.\-+]{0,40})?", re.ASCII)
_DEVICE = re.compile(r"(\d{1,4}): (.{1,200}?)(?: \(([0-9a-fA-F:.]{5,20})\)(?:: ?\(.{0,80}\))?)?", re.ASCII)
_ENGINES: dict[str, Engine] = {"ce": "copy", "sm": "kernel"}
_COPIES: dict[str, tuple[Direction | None, Beside | None, Counted]] = {
    "host_to_device_memcpy": ("h2d", None, "one"),
    "device_to_host_memcpy": ("d2h", None, "one"),
    "host_to_device_bidirectional_memcpy": ("h2d", "opposite", "one"),
    "device_to_host_bidirectional_memcpy": ("d2h", "opposite", "one"),
    "device_to_device_memcpy": ("p2p", None, "one"),
    "device_to_device_bidirectional_memcpy": ("p2p", "opposite", "one"),
    "all_to_host_memcpy": ("d2h", "others", "one"),
    "all_to_host_bidirectional_memcpy": ("d2h", "others-opposite", "one"),
    "host_to_all_memcpy": ("h2d", "others", "one"),
    "host_to_all_bidirectional_memcpy": ("h2d", "others-opposite", "one"),
    "all_to_one": ("p2p", "others", "total"),
    "one_to_all": ("p2p", "others", "total"),
    "device_local_copy": ("local", None, "one"),
}
"""What the tests measure, by their names without `_read`, `_write` and the engine. Source: its README."""
_UNKNOWN: tuple[Direction | None, Beside | None, Counted] = (None, None, "one")
_PARTS = re.compile(r"\b(Read1|Read2|Write1|Write2|Total)\b", re.ASCII)
_ENDS = re.compile(r"(\w+)\((row|column)\)", re.ASCII)
_DESCRIBED = re.compile(r"(?:memcpy|memory latency) (CE|SM)\b", re.ASCII)
"""The name of a test that is known by the description of its table only."""
_GPU = re.compile(r"GPU (\d{1,4})", re.ASCII)
_ARROW = re.compile(r"<->|<-|->")
_TOTAL = "Total"


@dataclass(frozen=True)
class Table:
    """A table of a test.

    Attributes:
        description: The line above it.
        unit: `GB/s` or `ns`.
        cells: Its rows; None where it has `N/A`.
        total: The sum of its cells as the tool prints it, if it does.
    """

    description: str
    unit: str
    cells: Sequence[Sequence[Decimal | None]]
    total: Decimal | None = None

    @property
    def part(self) -> str | None:
        """Which table of its test it is, where a test has several."""
        found = _PARTS.search(self.description)
        return found[1] if found else None

    def sums_to(self, total: Decimal) -> bool:
        """Whether the cells, each rounded to two decimals, have this sum."""
        known = [cell for row in self.cells for cell in row if cell is not None]
        allowed = Decimal("0.005") * (len(known) + 1) + total * Decimal("1e-5")
        return abs(sum(known, Decimal()) - total) <= allowed


def version_of(text: str, where: str) -> str:
    """The version of nvbandwidth in a text like `v0.5`.

    Raises:
        InputError: It is none, or one that is not known.
    """
    found = _VERSION.fullmatch(text.strip())
    if found is None or not FIRST_VERSION <= (int(found[1]), int(found[2])) <= LAST_VERSION:
        raise refusal(
            "unsupported",
            f"{where}: version {shown(text.strip())} of nvbandwidth: give the output of a version from 0.2 to "
            "0.10",
        )
    return f"{found[1]}.{found[2]}"


def devices_of(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names of devices, and their addresses, from texts like `0: NVIDIA H100 (00000000:19:00): (host)`."""
    found = [one for text in texts if (one := _DEVICE.fullmatch(text.strip()))]
    return [one[2].strip() for one in found], [one[3] for one in found if one[3]]


def without_result(name: str, size_bytes: int | None, status: str, message: str) -> Measurement:
    """A test that nvbandwidth waived, or that failed."""
    return Measurement(name, name, _setting(name, size_bytes), status=status, message=message)


def measurements(
    name: str, tables: Sequence[Table], size_bytes: int | None, devices: Mapping[int, str]
) -> Iterator[Measurement]:
    """The tests of a store for the tables of one test: a test for each cell, and one for the sum of several."""
    numbers = 0
    for table in tables:
        kind, factor = ("bandwidth", GIGABYTES_GBPS) if table.unit == "GB/s" else ("average", Decimal(1))
        for pair, value in _values(table):
            numbers += 1
            # A latency is of single accesses, not of the buffer.
            setting = _setting(name, size_bytes if kind == "bandwidth" else None, table.part, pair)
            gpu = _GPU.search(pair)
            setting = replace(setting, device=devices.get(int(gpu[1])) if gpu else None)
            yield Measurement(name, name, setting, {kind: value * factor})
    if not numbers:
        yield without_result(name, size_bytes, "not-supported", "no pair of devices: every cell is N/A")


def _values(table: Table) -> Iterator[tuple[str, Decimal]]:
    for row, cells in enumerate(table.cells):
        for column, cell in enumerate(cells):
            if cell is not None:
                yield _pair(table.description, row, column), cell
    if table.total is not None and sum(map(len, table.cells)) > 1:
        yield "sum", table.total


def _pair(description: str, row: int, column: int) -> str:
    """The ends of a cell in the words of the description: `CPU 0 -> GPU 1`."""
    ends = {one[2]: f"{one[1]} {row if one[2] == 'row' else column}" for one in _ENDS.finditer(description)}
    arrow = _ARROW.search(description)
    named = [ends[end] for end in ("row", "column") if end in ends]
    return f" {arrow[0] if arrow else ','} ".join(named) if named else f"{row}, {column}"


def _setting(
    name: str, size_bytes: int | None, part: str | None = None, pair: str | None = None
) -> MeasuredSetting:
    """What a test measures, as far as its name says."""
    plain, _, engine = name.rpartition("_")
    described = _DESCRIBED.match(name)
    if described:
        engine = described[1].lower()
    if engine not in _ENGINES or described:
        plain = name
    plain = plain.removeprefix("multinode_").removesuffix("_read").removesuffix("_write")
    direction, beside, counted = _COPIES.get(plain, _UNKNOWN)
    if described:
        arrow = _ARROW.search(name)
        beside = "opposite" if arrow and arrow[0] == "<->" else None
        ways: dict[str, Direction] = {"->": "h2d", "<-": "d2h"}
        direction = "p2p" if "CPU" not in name else ways.get(arrow[0]) if arrow else None
    return MeasuredSetting(
        tool="nvbandwidth",
        direction=direction,
        beside=beside,
        counted="both" if part == _TOTAL else counted,
        engine=_ENGINES.get(engine),
        pair=pair,
        part=part,
        size_bytes=size_bytes,
    )
