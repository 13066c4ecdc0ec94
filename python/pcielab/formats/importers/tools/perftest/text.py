"""Read the text that a client of perftest prints: a framed head, and a framed table.

    ---------------------------------------------------------------------------------------
     #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
     65536      5000             11719.06            11718.72                  0.187500
    ---------------------------------------------------------------------------------------

The line below the table shows that it is whole.
"""

import re
from pathlib import Path

from pcielab.errors import InputError
from pcielab.formats.importers.tools.perftest.report import RateUnit, Result, Title, measured
from pcielab.formats.importers.tools.reading import number, refuse
from pcielab.formats.importers.tools.writing import Measured

_TITLE = re.compile(r"\S.{0,100} Test", re.ASCII)
_BANDWIDTHS = re.compile(
    r"#bytes\s+#iterations\s+BW peak\[(?P<unit>MB/sec|Gb/sec)\]\s+BW average\[(?P=unit)\]\s+MsgRate\[Mpps\]"
    r"(?P<cpu>\s+CPU_Util\[%\])?",
    re.ASCII,
)
_LATENCIES = re.compile(
    r"#bytes\s+#iterations\s+t_min\[usec\]\s+t_max\[usec\]\s+t_typical\[usec\]\s+t_avg\[usec\]\s+t_stdev\[usec\]\s+"
    r"99% percentile\[usec\]\s+99\.9% percentile\[usec\](?P<cpu>\s+CPU_Util\[%\])?",
    re.ASCII,
)
_DURATIONS = re.compile(r"#bytes\s+#iterations\s+t_avg\[usec\]\s+tps average(?P<cpu>\s+CPU_Util\[%\])?", re.ASCII)
_OF_BANDWIDTHS = ("MsgSize", "n_iterations", "BW_peak", "BW_average", "MsgRate")
_OF_LATENCIES = (
    *("MsgSize", "n_iterations", "t_min", "t_max", "t_typical", "t_avg", "t_stdev"),
    *("percentile_99", "percentile_99.9"),
)
_OF_DURATIONS = ("MsgSize", "n_iterations", "t_avg", "tps_average")
_NAMES = {_BANDWIDTHS: _OF_BANDWIDTHS, _LATENCIES: _OF_LATENCIES, _DURATIONS: _OF_DURATIONS}
"""The keys of the columns, as JSON has them."""
_FACTS = {
    "device": re.compile(r"\bDevice\s+: (\S{1,60})", re.ASCII),
    "transport": re.compile(r"\bConnection type : (\w{1,10})", re.ASCII),
    "queues": re.compile(r"\bNumber of qps\s+: (\d{1,7})\b", re.ASCII),
    "tx_depth": re.compile(r"\bTX depth\s+: (\d{1,7})\b", re.ASCII),
}
_FRAME = re.compile(r"-+")
_WARNING = re.compile(r"(Conflicting CPU frequency|Test integrity|Warning|WARNING|CPU frequency is not max).*")


def read_report(text: str, file: Path) -> Measured:
    """The tests of a report.

    Raises:
        InputError: It is foreign, truncated or damaged.
    """
    lines = [line.strip() for line in text.split("\n")]
    start = next((index for index, line in enumerate(lines) if line.startswith("#bytes")), None)
    if start is None:
        raise InputError(
            f"{file}, line {len(lines)}: no line with #bytes: the file is truncated, or no report of perftest"
        )
    title = _title(lines[:start], file)
    head = {key: found[1] for key, fact in _FACTS.items() if (found := fact.search("\n".join(lines[:start])))}
    unit, names, cpu = _columns(lines[start], title, file, start + 1)
    results: list[Result] = []
    for index, line in enumerate(lines[start + 1 :], start + 1):
        if _FRAME.fullmatch(line):
            _refuse_more(lines, index + 1, file)
            return measured(title, results, unit, head, str(file))
        if not line or _WARNING.fullmatch(line):
            continue
        cells = line.split()
        if len(cells) != len(names) + cpu:
            refuse(file, index + 1, line, f"give {len(names) + cpu} numbers: the file is truncated or damaged")
        values = [number(cell, file, index + 1) for cell in cells]
        results.append(Result(dict(zip(names, values[: len(names)], strict=True)), f"{file}, line {index + 1}"))
    raise InputError(
        f"{file}, line {len(lines)}: no line of dashes below the table: the file is truncated; copy it again"
    )


def _title(head: list[str], file: Path) -> Title:
    found = [(index, line) for index, line in enumerate(head, 1) if _TITLE.fullmatch(line)]
    if not found:
        raise InputError(f"{file}, line 1: no title like RDMA_Write BW Test: give the whole report of perftest")
    if len(found) > 1:
        refuse(file, found[1][0], found[1][1], "a second report begins: give one report")
    return Title.of(found[0][1], f"{file}, line {found[0][0]}")


def _columns(line: str, title: Title, file: Path, at: int) -> tuple[RateUnit | None, tuple[str, ...], int]:
    """The unit of bandwidths, the columns, and the number of further columns."""
    known = (_LATENCIES, _DURATIONS) if title.is_latency else (_BANDWIDTHS,)
    found = next((one for pattern in known if (one := pattern.fullmatch(line))), None)
    if found is None:
        refuse(file, at, line, f"not the columns of {title.title}: the file is truncated, or of another version")
    units: dict[str, RateUnit] = {"MB/sec": "MB/sec", "Gb/sec": "Gb/sec"}
    unit = None if title.is_latency else units[found["unit"]]
    return unit, _NAMES[found.re], int(found["cpu"] is not None)


def _refuse_more(lines: list[str], start: int, file: Path) -> None:
    for index, line in enumerate(lines[start:], start + 1):
        if line.startswith("#bytes") or _TITLE.fullmatch(line):
            refuse(file, index, line, "a second report follows: give one report")
