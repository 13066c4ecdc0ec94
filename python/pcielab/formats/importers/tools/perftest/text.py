"""Read the text that perftest prints: a framed head, and a framed table.

    ---------------------------------------------------------------------------------------
     #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
     65536      5000             11719.06            11718.72                  0.187500
    ---------------------------------------------------------------------------------------

An excerpt may lack frames and title. The line below the table shows that it is whole.
"""

import re
from decimal import Decimal

from pcielab.errors import refusal
from pcielab.formats.importers.tools.pasted import Lines
from pcielab.formats.importers.tools.perftest.report import TITLE, RateUnit, Result, Title, measured
from pcielab.formats.importers.tools.reading import NUMBER
from pcielab.formats.importers.tools.writing import Measured

_RATE = r"\[(MB/sec|Gb/sec)\]"
_COLUMNS = tuple(
    (re.compile(pattern, re.ASCII), key)
    for pattern, key in (
        (r"#bytes", "MsgSize"),
        (r"#iterations", "n_iterations"),
        (rf"BW peak{_RATE}", "BW_peak"),
        (rf"BW average{_RATE}", "BW_average"),
        (r"MsgRate\[Mpps\]", "MsgRate"),
        (rf"BW Port1{_RATE}", "BW_port_1"),
        (r"MsgRate Port1\[Mpps\]", "MsgRate_port_1"),
        (rf"BW Port2{_RATE}", "BW_port_2"),
        (r"MsgRate Port2\[Mpps\]", "MsgRate_port_2"),
        (r"t_min\[usec\]", "t_min"),
        (r"t_max\[usec\]", "t_max"),
        (r"t_typical\[usec\]", "t_typical"),
        (r"t_avg\[usec\]", "t_avg"),
        (r"t_stdev\[usec\]", "t_stdev"),
        (r"99% percentile\[usec\]", "percentile_99"),
        (r"99\.9% percentile\[usec\]", "percentile_99.9"),
        (r"tps average", "tps_average"),
        (r"CPU_Util\[%\]", "cpu"),
    )
)
"""The titles of columns, and their keys in JSON."""
_DECIMALS = {"MsgSize": 0, "n_iterations": 0, **dict.fromkeys(("MsgRate", "MsgRate_port_1", "MsgRate_port_2"), 6)}
"""Decimals of the numbers of a column; two, if it is not here."""
_FACTS = {
    "device": re.compile(r"\bDevice\s*: (\S{1,60})", re.ASCII),
    "transport": re.compile(r"\bConnection type\s*: (\w{1,10})", re.ASCII),
    "queues": re.compile(r"\bNumber of qps\s*: (\d{1,7})\b", re.ASCII),
    "tx_depth": re.compile(r"\bTX depth\s*: (\d{1,7})\b", re.ASCII),
    "mtu": re.compile(r"\bMtu\s*: (\d{3,4})\[B\]", re.ASCII),
    "link_layer": re.compile(r"\bLink type\s*: (Ethernet|IB)\b", re.ASCII),
}
BEGINS = (re.compile(r"(?:[A-Z]\w{1,20} ){1,4}(?:BW|Latency) Test|#bytes\s.*", re.ASCII), TITLE)
"""Lines with which a report begins."""
_GPU_MEMORY = re.compile(r".*(?:--use_(?:cuda|rocm|hip)\b|\bGPU buffer\b).*", re.ASCII)
"""What perftest, or its command, says above the title of a report whose buffers lie in a GPU."""
_ABOVE_TITLE = 32
_FRAME = re.compile(r"-{4,}")
_WARNING = re.compile(r"(Conflicting CPU frequency|Test integrity|Warning|WARNING|CPU frequency is not max).*")
_PROGRAM = re.compile(r".*\bib_(write|read|send|atomic)_(bw|lat)\b.*", re.ASCII)
_PROGRAMS = {"write": "RDMA_Write", "read": "RDMA_Read", "send": "Send", "atomic": "Atomic"}
_MOST_HEAD = 80
_NUMBER = re.compile(NUMBER, re.ASCII)
_CUT = "the file is truncated or damaged; copy it again"


def read_report(lines: Lines, previous: Measured | None) -> Measured:
    """The tests of the report that begins with the next line.

    Raises:
        InputError: Its table is truncated or damaged, or its test is not known.
    """
    where = f"{lines.file}, line {lines.number}"
    is_in_gpu = _is_in_gpu(lines)
    head = _head(lines)
    if not lines.peek().startswith("#bytes"):
        return Measured("perftest", None, (), notes=("perftest: a report without results: give the client's",))
    keys, unit = _columns(lines)
    title = _title(head, lines, is_latency="BW_average" not in keys, where=where)
    facts = {key: found[1] for key, fact in _FACTS.items() if (found := fact.search("\n".join(head)))}
    facts |= {"memory": "gpu"} if is_in_gpu else {}
    results: list[Result] = []
    while line := lines.peek():
        if line[0].isdigit():
            results.append(_result(lines, keys))
        elif not _WARNING.fullmatch(line):
            break
        lines.take()
    report = measured(title, results, unit, facts, str(lines.file))
    if not _FRAME.fullmatch(lines.peek()):
        note = f"perftest: no line of dashes below the table at line {lines.number}: later sizes may be missing"
        return Measured("perftest", None, report.tests, report.device, notes=(note,))
    lines.take()
    return report


def _is_in_gpu(lines: Lines) -> bool:
    """Whether the lines above the next one, up to another table, say that buffers lie in a GPU."""
    for line in lines.before(_ABOVE_TITLE):
        if line[0].isdigit() or line.startswith("#bytes"):
            break
        if _GPU_MEMORY.fullmatch(line):
            return True
    return False


def _head(lines: Lines) -> list[str]:
    """The lines above the table, from the title on; the next line is then that of the columns, if there is one."""
    head: list[str] = []
    while (line := lines.peek()) and not line.startswith("#bytes") and len(head) < _MOST_HEAD:
        if head and any(begin.fullmatch(line) for begin in BEGINS):
            break
        head.append(line)
        lines.take()
    return head


def _title(head: list[str], lines: Lines, *, is_latency: bool, where: str) -> Title:
    """The test of the title, or of the command above a table without one."""
    if head:
        title = Title.of(head[0], where)
        if title.is_latency != is_latency:
            raise refusal("damaged", f"{where}: not the columns of {title.title}: {_CUT}")
        return title
    program = _PROGRAM.fullmatch(lines.command)
    if program is None or (program[2] == "lat") != is_latency:
        return Title.unknown(is_latency=is_latency)
    return Title.of(f"{_PROGRAMS[program[1]]} {'Latency' if is_latency else 'BW'} Test", where)


def _columns(lines: Lines) -> tuple[list[str], RateUnit | None]:
    """The keys of the columns, and the unit of bandwidths; the titles of the columns may be wrapped."""
    line = lines.take()
    while lines.peek() and not lines.peek()[0].isdigit() and _of_columns(f"{line} {lines.peek()}") is not None:
        line = f"{line} {lines.take()}"
    found = _of_columns(line)
    if found is None or "MsgSize" not in found[0] or not {"BW_average", "t_avg", "t_typical"} & {*found[0]}:
        lines.refuse(line, "not the columns of a table of perftest: the file is truncated, or of another version")
    return found


def _of_columns(line: str) -> tuple[list[str], RateUnit | None] | None:
    """The keys of the columns of a line, and the unit of its bandwidths; None if it has other words."""
    keys: list[str] = []
    units: set[str] = set()
    rest = line
    while rest := rest.strip():
        match = next(((one, key) for pattern, key in _COLUMNS if (one := pattern.match(rest))), None)
        if match is None or match[1] in keys:
            return None
        keys.append(match[1])
        units.update(match[0].groups())
        rest = rest[match[0].end() :]
    known: dict[str, RateUnit] = {"MB/sec": "MB/sec", "Gb/sec": "Gb/sec"}
    return (keys, known[units.pop()]) if len(units) == 1 else (keys, None) if not units else None


def _result(lines: Lines, keys: list[str]) -> Result:
    """A line of the table, which may be wrapped; the last of its lines is then the next one."""
    where = f"{lines.file}, line {lines.number}"
    words = lines.cells(len(keys), lines.peek().split())
    values: dict[str, Decimal] = {}
    for key, word in zip(keys, words, strict=True):
        if not _NUMBER.fullmatch(word) or len(word.partition(".")[2]) != _DECIMALS.get(key, 2):
            lines.refuse(word, f"give a number with {_DECIMALS.get(key, 2)} decimals: {_CUT}")
        values[key] = Decimal(word)
    values.pop("cpu", None)
    return Result(values, where)
