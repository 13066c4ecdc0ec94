"""Read the JSON of perftest (`--out_json`).

Versions up to 4.5 leave out the quotes of keys and texts, which is not JSON: one `key: value,` in each line.
Bandwidths have no unit in either form; the rate of messages and their size determine it.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from pcielab.errors import InputError
from pcielab.formats.importers.tools.perftest.report import Result, Title, measured
from pcielab.formats.importers.tools.reading import NUMBER, parse_json, refuse
from pcielab.formats.importers.tools.writing import Measured
from pcielab.wording import shown

_QUOTED = re.compile(r'\{\s*"')
_OPENS = re.compile(r"(test_info|results): \{", re.ASCII)
_VALUE = re.compile(r'([A-Za-z]\w*(?:\.\d)?)\s*: ("[^"]*"|[^,{}"]*),?', re.ASCII)
_NUMBER = re.compile(NUMBER, re.ASCII)
_FACTS = {
    "device": "Device",
    "transport": "Connection_type",
    "queues": "Number_of_qps",
    "tx_depth": "TX_depth",
}
_NEEDED = ("MsgSize", "n_iterations")
_NUMBERS = frozenset(
    {
        *_NEEDED,
        *("BW_peak", "BW_average", "MsgRate", "t_min", "t_max", "t_typical", "t_avg", "t_stdev"),
        *("percentile_99", "percentile_99.9", "tps_average"),
    }
)
_DAMAGED = "the file is truncated or damaged; copy it again"
_Sections = tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]


def read_json(text: str, file: Path) -> Measured:
    """The tests of a report.

    Raises:
        InputError: It is foreign, truncated or damaged.
    """
    info, found = _quoted(text, file) if _QUOTED.match(text.lstrip()) else _unquoted(text, file)
    title = Title.of(str(info.get("test", "")), f"{file}: test_info.test")
    head = {key: str(info[name])[:60] for key, name in _FACTS.items() if info.get(name) is not None}
    results = [Result(_numbers(values, where), where) for where, values in found]
    return measured(title, results, None, head, str(file))


def _numbers(values: Mapping[str, Any], where: str) -> dict[str, Decimal]:
    for key in _NEEDED:
        if key not in values:
            raise InputError(f"{where}: has no {key}: {_DAMAGED}")
    numbers = {}
    for key in _NUMBERS & values.keys():
        value = values[key]
        text = f"{value:.9f}" if isinstance(value, float) else shown(value) if isinstance(value, int) else value
        if not isinstance(text, str) or not _NUMBER.fullmatch(text):
            raise InputError(f"{where}: {key} is {shown(value)}: give a number: {_DAMAGED}")
        numbers[key] = Decimal(text)
    return numbers


def _quoted(text: str, file: Path) -> _Sections:
    """The sections of a JSON file. Runs over all sizes repeat the key `results`."""
    content = parse_json(text, file, "results")
    info, results = content.get("test_info"), content.get("results", [])
    if not isinstance(info, dict):
        raise InputError(f"{file}: test_info is {shown(info)}: give a report of perftest with an object")
    found = []
    for index, one in enumerate(results, 1):
        where = f"{file}: results, {index}"
        if not isinstance(one, dict):
            raise InputError(f"{where}: is {shown(one)}: give an object with MsgSize")
        found.append((where, one))
    return info, found


def _unquoted(text: str, file: Path) -> _Sections:
    """The sections of a file without quotes; in `results`, each MsgSize begins another line of the report."""
    info: dict[str, Any] = {}
    found: list[tuple[str, dict[str, Any]]] = []
    open_braces: list[str] = []
    closed: list[str] = []
    for number, line in _lines(text):
        opens = _OPENS.fullmatch(line)
        if "" in closed or (closed.count("results") and not open_braces):
            refuse(file, number, line, "the report has ended: give one report")
        elif line == "{" and not open_braces and not closed:
            open_braces.append("")
        elif opens and open_braces in ([], [""]):
            open_braces.append(opens[1])
        elif line in ("}", "},") and open_braces:
            closed.append(open_braces.pop())
        elif (pair := _VALUE.fullmatch(line)) and open_braces and open_braces[-1]:
            values = info
            if open_braces[-1] == "results":
                if pair[1] == "MsgSize":
                    found.append((f"{file}, line {number}", {}))
                if not found:
                    refuse(file, number, line, f"a result begins with MsgSize: {_DAMAGED}")
                values = found[-1][1]
            values[pair[1]] = pair[2].strip().strip('"')
        else:
            refuse(file, number, line, f"give `key: value,`: {_DAMAGED}")
    if open_braces or "results" not in closed:
        raise InputError(f"{file}, line {text.count(chr(10)) + 1}: the report does not end: {_DAMAGED}")
    return info, found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    return ((number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if line.strip())
