"""Read the JSON of perftest (`--out_json`).

Versions up to 4.5 leave out the quotes of keys and texts, which is not JSON: one `key: value,` in each line.
Bandwidths have no unit in either form; the rate of messages and their size determine it.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from pcielab.errors import refusal
from pcielab.formats.importers.tools.pasted import Lines
from pcielab.formats.importers.tools.perftest.report import Result, Title, measured
from pcielab.formats.importers.tools.reading import NUMBER
from pcielab.formats.importers.tools.writing import Measured
from pcielab.wording import shown

_OPENS = re.compile(r"(test_info|results): \{", re.ASCII)
_VALUE = re.compile(r'([A-Za-z]\w*(?:\.\d)?)\s*: ("[^"]*"|[^,{}"]*),?', re.ASCII)
_NUMBER = re.compile(NUMBER, re.ASCII)
_FACTS = {
    "device": "Device",
    "transport": "Connection_type",
    "queues": "Number_of_qps",
    "tx_depth": "TX_depth",
    "mtu": "Mtu",
    "link_layer": "Link_type",
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


def read_json(content: Mapping[str, Any], where: str) -> Measured:
    """The tests of JSON whose repeated key `results` is a list; `where` is for errors.

    Raises:
        InputError: It is foreign or damaged.
    """
    info, results = content.get("test_info"), content.get("results", [])
    if not isinstance(info, dict):
        raise refusal(
            "wrong-type", f"{where}: test_info is {shown(info)}: give a report of perftest with an object"
        )
    sections = []
    for index, one in enumerate(results, 1):
        if not isinstance(one, dict):
            raise refusal("wrong-type", f"{where}: results, {index}: is {shown(one)}: give an object with MsgSize")
        sections.append((f"{where}: results, {index}", one))
    return _measured(info, sections, where)


def read_unquoted(lines: Lines) -> Measured:
    """The tests of a file without quotes, from the next line on; in `results`, each MsgSize begins another one.

    Raises:
        InputError: It is foreign, truncated or damaged.
    """
    info: dict[str, Any] = {}
    found: list[tuple[str, dict[str, Any]]] = []
    open_braces: list[str] = []
    closed: list[str] = []
    while not (closed and not open_braces and ("" in closed or "results" in closed)):
        line, opens = lines.peek(), _OPENS.fullmatch(lines.peek())
        if line == "{" and not open_braces and not closed:
            open_braces.append("")
        elif opens and open_braces in ([], [""]):
            open_braces.append(opens[1])
        elif line in ("}", "},") and open_braces:
            closed.append(open_braces.pop())
        elif (pair := _VALUE.fullmatch(line)) and open_braces and open_braces[-1]:
            values = info
            if open_braces[-1] == "results":
                if pair[1] == "MsgSize":
                    found.append((f"{lines.file}, line {lines.number}", {}))
                if not found:
                    lines.refuse(line, f"a result begins with MsgSize: {_DAMAGED}")
                values = found[-1][1]
            values[pair[1]] = pair[2].strip().strip('"')
        elif line:
            lines.refuse(line, f"give `key: value,`: {_DAMAGED}")
        else:
            raise refusal("damaged", f"{lines.file}, line {lines.number}: the report does not end: {_DAMAGED}")
        lines.take()
    return _measured(info, found, str(lines.file))


def _measured(info: Mapping[str, Any], sections: Sequence[tuple[str, Mapping[str, Any]]], where: str) -> Measured:
    title = Title.of(str(info.get("test", "")), f"{where}: test_info.test")
    head = {key: str(info[name])[:60] for key, name in _FACTS.items() if info.get(name) is not None}
    results = [Result(_numbers(values, at), at) for at, values in sections]
    return measured(title, results, None, head, where)


def _numbers(values: Mapping[str, Any], where: str) -> dict[str, Decimal]:
    for key in _NEEDED:
        if key not in values:
            raise refusal("damaged", f"{where}: has no {key}: {_DAMAGED}")
    numbers = {}
    for key in _NUMBERS & values.keys():
        value = values[key]
        text = f"{value:.9f}" if isinstance(value, float) else shown(value) if isinstance(value, int) else value
        if not isinstance(text, str) or not _NUMBER.fullmatch(text):
            raise refusal("damaged", f"{where}: {key} is {shown(value)}: give a number: {_DAMAGED}")
        numbers[key] = Decimal(text)
    return numbers
