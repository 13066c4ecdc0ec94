"""Read Intel Memory Latency Checker: matrices of NUMA nodes, rates by traffic, and loaded latencies.

A row is the node whose processors read, a column the one whose memory they read. MB/sec are 10^6 B/s, as mlc
says. None of its numbers is of a device's link, except where a node is memory of CXL, which mlc does not say.
Source: the program's own output and its readme.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal

from pcielab.formats.importers.tools.pasted import Lines, read_matrix
from pcielab.formats.importers.tools.reading import NUMBER
from pcielab.formats.importers.tools.writing import MEGABYTES_GBPS, Measured, Measurement
from pcielab.kinds.tools.rows import MeasuredSetting

_VERSION = re.compile(r"Intel\(R\) Memory Latency Checker - v(\d{1,3}\.\d{1,3}\w?).*", re.ASCII)
_SECTION = re.compile(
    r"Measuring (?P<idle>idle latenc(?:ies|y)).*"
    r"|Measuring (?P<between>Memory Bandwidths between nodes within system).*"
    r"|Measuring (?P<peak>Peak Injection Memory Bandwidths|Maximum Memory Bandwidths) for the system.*"
    r"|Measuring (?P<loaded>Loaded Latencies) for the system.*"
    r"|Measuring (?P<cache>cache-to-cache transfer latency).*",
    re.IGNORECASE,
)
BEGINS = (_VERSION, _SECTION, re.compile("Numa node"))
"""Lines with which a report begins, or goes on."""
_TRAFFIC = re.compile(r"Using (\S.{0,60}?) traffic type")
_NODES = re.compile(r"(?:Reader |Writer )?Numa Node|Memory node|Socket(?=\s+\d)", re.IGNORECASE)
_CORNER = re.compile(r"(?:Writer )?Numa Node|Socket", re.IGNORECASE)
_MIX = re.compile(rf"(?P<mix>ALL Reads|\d:\d Reads-Writes|Stream-triad like)\s*:\s*(?P<rate>{NUMBER})", re.ASCII)
_LOADED = re.compile(rf"(?P<delay>\d{{5}})\s+(?P<time>{NUMBER})\s+(?P<rate>{NUMBER})", re.ASCII)
_CACHE = re.compile(rf"(?P<what>(?:Local|Remote) Socket .{{1,60}}? latency)\s+(?P<time>{NUMBER})", re.ASCII)
_IDLE = re.compile(
    rf"Each iteration took {NUMBER} (?:core|base frequency) clocks \(\s*(?P<time>{NUMBER})\s+ns\)", re.ASCII
)
_TABLE = re.compile(r"Remote Socket .{1,60} latency(?: \(.{1,60}\))?", re.ASCII)
_SKIPPED = re.compile(
    r"Command line parameters: .*|Using (?:buffer|all|traffic|small|large|Read).*|Bandwidths are in .*"
    r"|Inject(?:\s.*)?|Delay\b.*|=+|Unable to modify prefetchers.*|\*{2,}.*|So, enabling random access.*"
    r"|(?:Latency|Bandwidth|MB/sec|\(ns\)).*|.*hugepages.*|NOTE: .*|alloc_mem.*",
    re.IGNORECASE,
)
_DAMAGED = re.compile(r"(?:ALL Reads|\d:\d Reads-Writes|Stream-triad like|\d{5}\b|Local Socket).*", re.ASCII)
"""A line of results that lost some of them."""
_NS = Decimal(1)


def read_mlc(lines: Lines, previous: Measured | None) -> Measured:
    """The tests from the next line on, to the first line of something else.

    Raises:
        InputError: A matrix or a line is truncated or damaged.
    """
    tests: list[Measurement] = []
    version = previous.version if previous else None
    section, title, traffic, table = "", "", "", ""
    notes: list[str] = []
    while line := lines.peek():
        if found := _VERSION.fullmatch(line):
            version = found[1]
        elif found := _SECTION.fullmatch(line):
            section, title = next((key, text) for key, text in found.groupdict().items() if text)
            traffic = table = ""
        elif found := _TRAFFIC.fullmatch(line):
            traffic = found[1]
        elif _NODES.match(line):
            if not _digits(lines.peek()):  # the first of two lines
                lines.take()
            if section in ("idle", "between", "cache"):
                tests += _matrix(section, title, table or traffic, lines, notes)
            else:
                lines.refuse(line, "no line above says what the matrix measures: give the whole output of mlc")
            continue
        elif section and (found := _MIX.fullmatch(line) or _LOADED.fullmatch(line) or _CACHE.fullmatch(line)):
            tests += _line(title, traffic, found, lines)
        elif found := _IDLE.fullmatch(line):
            tests.append(_test("idle latency", None, None, {"average": Decimal(found["time"]) * _NS}))
        elif section == "cache" and (found := _TABLE.fullmatch(line)):
            table = found[0]
        elif section and _DAMAGED.fullmatch(line):
            lines.refuse(line, "give the line with all its numbers: the file is truncated or damaged")
        elif not _SKIPPED.fullmatch(line):
            break
        lines.take()
    return Measured("mlc", version, tests, notes=notes)


def _digits(line: str) -> bool:
    return any(letter.isdigit() for letter in line)


def _matrix(section: str, title: str, part: str, lines: Lines, notes: list[str]) -> Iterator[Measurement]:
    cells = read_matrix(lines, _CORNER, decimals=1)
    if len(cells) < len(cells[0]):
        missing = ", ".join(map(str, range(len(cells), len(cells[0]))))
        notes.append(f"mlc: no row of node {missing}: it has no processors, or the text is cut")
    for source, row in enumerate(cells):
        for target, cell in enumerate(row):
            if cell is None or (source == target and not cell):
                continue
            pair = f"node {source} -> node {target}"
            metrics = {"bandwidth": cell * MEGABYTES_GBPS} if section == "between" else {"average": cell * _NS}
            yield _test(title, part or None, pair, metrics)


def _line(title: str, traffic: str, found: re.Match[str], lines: Lines) -> Iterator[Measurement]:
    values = found.groupdict()
    for key in ("time", "rate"):
        if values.get(key) and len(values[key].partition(".")[2]) not in (1, 2):
            lines.refuse(lines.peek(), "give a number with its decimals: the file is truncated or damaged")
    metrics: dict[str, Decimal] = {}
    if values.get("rate"):
        metrics["bandwidth"] = Decimal(values["rate"]) * MEGABYTES_GBPS
    if values.get("time"):
        metrics["average"] = Decimal(values["time"]) * _NS
    if values.get("delay"):
        part: str | None = ", ".join(filter(None, (f"delay {values['delay']}", traffic)))
    else:
        part = values.get("mix") or values.get("what")
    yield _test(title, part, None, metrics)


def _test(title: str, part: str | None, pair: str | None, metrics: Mapping[str, Decimal]) -> Measurement:
    return Measurement(title, title, MeasuredSetting(tool="mlc", pair=pair, part=part), metrics)
