"""Import what tools printed: a file with the output of one tool, or of several with other text around it.

`read_output` finds the blocks of a text. Each begins with a line that a reader knows, which then takes its lines
up to the first of something else. Lines that no reader took are skipped; what is known of them, like lspci or an
output without results, is a note. A number in a block that lost digits, or a table that lost cells, is refused.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pcielab.errors import refusal
from pcielab.formats.importers.tools import (
    cuda_bandwidth,
    cuda_p2p,
    fio,
    mlc,
    nccl,
    nvbandwidth,
    perftest,
    rocm_bandwidth,
)
from pcielab.formats.importers.tools.foreign import ForeignText, TopologyLines
from pcielab.formats.importers.tools.given import Given
from pcielab.formats.importers.tools.pasted import Lines
from pcielab.formats.importers.tools.reading import read_text
from pcielab.formats.importers.tools.writing import Measured, Measurement, write
from pcielab.kinds.tools.rows import Tool
from pcielab.outputs import check_new_store
from pcielab.wording import shown

READ: dict[Tool, str] = {
    "nvbandwidth": "text or JSON (-j) of nvbandwidth 0.2 to 0.10, or an excerpt with whole tables",
    "perftest": "reports of ib_write_bw, ib_read_bw, ib_send_bw, ib_atomic_bw or ib_*_lat, text or --out_json",
    "fio": "JSON, json+, normal output and terse lines 3 to 5 of fio 3",
    "bandwidthTest": "tables and CSV of bandwidthTest",
    "p2pBandwidthLatencyTest": "matrices of p2pBandwidthLatencyTest",
    "rocm-bandwidth-test": "matrices and tables of rocm-bandwidth-test",
    "nccl-tests": "lines of nccl-tests or rccl-tests below their line of columns",
    "mlc": "matrices and tables of Intel MLC",
}
"""What is read of each tool."""
_HEAD_SHOWN = 60
_LEAST_LINE = 3
"""Letters of the shortest line with which a block begins."""
_MOST_NOTES = 12
_COMMAND = re.compile(r".*\b(?:nvbandwidth|ib_\w{4,20}|\w{4,20}_perf)\b.*", re.ASCII)
_PROMPT = re.compile(r"[$#>%] |[$#>%]$|^```")
_FORMS = ("json", "normal", "terse")
"""Forms of fio, the one that says most first."""
_STEP = math.log(1.002)
"""Steps between rates of which neighbours are the same."""


@dataclass(frozen=True)
class _Reader:
    """What reads one form of a tool's text.

    Attributes:
        tool: The tool.
        begins: Lines with which its blocks begin.
        read: Reads a block from a cursor; given what earlier blocks of the tool had.
    """

    tool: Tool
    begins: Sequence[re.Pattern[str]]
    read: Callable[[Lines, Measured | None], Measured]


_READERS = (
    _Reader("bandwidthTest", cuda_bandwidth.BEGINS, cuda_bandwidth.read_cuda_bandwidth),
    _Reader("p2pBandwidthLatencyTest", cuda_p2p.BEGINS, cuda_p2p.read_cuda_p2p),
    _Reader("rocm-bandwidth-test", rocm_bandwidth.BEGINS, rocm_bandwidth.read_rocm_bandwidth),
    _Reader("nccl-tests", nccl.BEGINS, nccl.read_nccl),
    _Reader("mlc", mlc.BEGINS, mlc.read_mlc),
    _Reader("perftest", perftest.BEGINS, perftest.read_report),
    _Reader("fio", fio.BEGINS, fio.read_normal),
    _Reader("fio", (fio.TERSE,), fio.read_terse),
)
_NAMES = re.compile(r"\(\?P(?:<\w+>|=\w+\))")
_ANY = re.compile(
    "|".join(
        f"(?:{_NAMES.sub(lambda name: '(?:' if name[0].endswith('>') else '.{1,9}', begin.pattern)})"
        for begins in (nvbandwidth.BEGINS, *(reader.begins for reader in _READERS))
        for begin in begins
    ),
    re.ASCII | re.IGNORECASE,
)
"""Whatever a block may begin with: most lines around blocks do not match, and need no other pattern."""
_JSON_WORDS: dict[str, Tool] = {'"nvbandwidth"': "nvbandwidth", '"fio version"': "fio", "test_info": "perftest"}


def import_output(
    file: str | Path,
    output: str | Path,
    *,
    tool: Tool | None = None,
    given: Given | None = None,
    size_bytes: int | None = None,
    last_test: str | None = None,
    overwrite: bool = False,
) -> list[str]:
    """Read what tools printed and write it as a store.

    Args:
        file: The text, with anything around it.
        output: The store to create.
        tool: Only this tool's output; None for that of every tool.
        given: Facts about the machine.
        size_bytes: Size of the buffer of nvbandwidth (`-b`).
        last_test: Name of the last test of nvbandwidth that ran: its text without a closing note is whole, then.
        overwrite: Replace an existing store.

    Returns:
        What the text may lack, and what was not read, as sentences.

    Raises:
        InputError: Nothing was read, a part is truncated or damaged, a given fact is wrong, or the output is
            refused; nothing has been written.
    """
    file, output = Path(file), Path(output)
    check_new_store(output, overwrite=overwrite)
    text = read_text(file)
    found = read_output(text, file, tool=tool, size_bytes=size_bytes, last_test=last_test)
    write(found, given or Given(), file, text, output, overwrite=overwrite)
    return [note for one in found for note in one.notes]


def read_output(
    text: str, file: Path, *, tool: Tool | None = None, size_bytes: int | None = None, last_test: str | None = None
) -> list[Measured]:
    """What each tool measured, in the order of the text; arguments as for `import_output`, `file` is for errors.

    Raises:
        InputError: Nothing was read, or a part is truncated or damaged.
    """
    parts, foreign, paths = _parts(Lines(text, file), size_bytes, last_test)
    found = list(_merged(parts, paths))
    others = [one.tool for one in found if tool not in (None, one.tool) and one.tests]
    found = [one for one in found if one.tests and tool in (None, one.tool)]
    notes = _first([note for part in parts for note in part.notes])
    if not found:
        raise refusal("malformed", f"{file}, line {foreign.first_line}: {_refusal(tool, others, foreign, notes)}")
    if last_test is not None:
        _check_last(found, last_test, file)
    more = [f"not read: {form}" for form in foreign.forms(around={one.tool for one in found})]
    more += [f"not read: the output of {other}; pcielab import output reads every tool" for other in others]
    kept = [note for note in dict.fromkeys(notes) if "fio: the banner" not in note or not _has(found, "fio")]
    return [replace(one, notes=() if at else (*kept, *more)) for at, one in enumerate(found)]


def _first(notes: Sequence[str]) -> list[str]:
    """The first notes, each once, and the number of the others."""
    once = list(dict.fromkeys(notes))
    more = len(once) - _MOST_NOTES
    return [*once[:_MOST_NOTES], *([f"{more} more lines like these"] if more > 0 else [])]


def _has(found: Sequence[Measured], tool: Tool) -> bool:
    return any(one.tool == tool for one in found)


def _parts(
    lines: Lines, size_bytes: int | None, last_test: str | None
) -> tuple[list[Measured], ForeignText, dict[tuple[int, int], str]]:
    """What each block measured, the lines of no block, and the paths between GPUs that they show."""
    of_nvbandwidth = _Reader(
        "nvbandwidth",
        nvbandwidth.BEGINS,
        lambda cursor, previous: nvbandwidth.read_tables(cursor, previous, size_bytes, last_test),
    )
    readers = (of_nvbandwidth, *_READERS)
    parts: list[Measured] = []
    after = -1
    foreign, topology = ForeignText(), TopologyLines()
    while line := lines.peek():
        if (of_json := _json(lines, size_bytes)) is not None:
            parts.append(of_json)
            after = lines.behind
            continue
        known = readers if len(line) >= _LEAST_LINE and _ANY.fullmatch(line) else ()
        reader = next((one for one in known if any(begin.fullmatch(line) for begin in one.begins)), None)
        if reader is not None:
            previous = next((part for part in reversed(parts) if part.tool == reader.tool), None)
            parts.append(reader.read(lines, previous))
            after = lines.behind
            continue
        if ("_" in line or "nvb" in line) and _COMMAND.fullmatch(line):
            lines.command = line
        if lines.number == after + 1 and not _PROMPT.search(line):
            quoted = shown(line[:_HEAD_SHOWN])
            note = f"line {lines.number}, after the output of {parts[-1].tool}, is not read: {quoted}"
            parts[-1] = replace(parts[-1], notes=(*parts[-1].notes, note))
        topology.add(line)
        foreign.add(line if len(line) >= _LEAST_LINE or line == "{" else "", lines.number)
        lines.take()
    return parts, foreign, topology.paths()


def _json(lines: Lines, size_bytes: int | None) -> Measured | None:
    """What the JSON that begins with the next line measured; None without known JSON."""
    if lines.peek()[0] not in "{t":
        return None
    where = str(lines.file)
    if lines.peek().startswith("test_info: {") or (lines.peek() == "{" and lines.peek(1).startswith("test_info:")):
        return perftest.read_unquoted(lines)
    if not lines.begins_json(*_JSON_WORDS):
        return None
    content: Any = lines.take_json("results")
    if "nvbandwidth" in content:
        return nvbandwidth.read_json(content, where, size_bytes)
    if "test_info" in content:
        return perftest.read_json(content, where)
    return fio.read_json(content, where)


def _merged(parts: Sequence[Measured], paths: dict[tuple[int, int], str]) -> Iterator[Measured]:
    """The parts of each tool as one, in the order of their first."""
    for tool in dict.fromkeys(part.tool for part in parts):
        of_tool = [part for part in parts if part.tool == tool]
        tests = list(_once(of_tool)) if tool == "fio" else [t for part in of_tool for t in part.tests]
        names = {part.device for part in of_tool if part.tests or part.device}
        name = names.pop() if len(names) == 1 else None
        yield Measured(
            tool,
            next(
                (part.version for part in sorted(of_tool, key=lambda part: not part.tests) if part.version), None
            ),
            [_with(test, paths, name) for test in tests],
            name,
            [address for part in of_tool for address in part.addresses],
            {key: value for part in of_tool for key, value in part.facts.items()},
        )


def _once(parts: Sequence[Measured]) -> Iterator[Measurement]:
    """The tests of fio, each once where the text has it in several forms: in the one that says most."""
    forms: dict[tuple[object, ...], set[str]] = {}
    for part in parts:
        for test in part.tests:
            forms.setdefault(_about(test), set()).add(part.form)
    for part in parts:
        better = _FORMS[: _FORMS.index(part.form)]
        for test in part.tests:
            name, way, rate, bandwidth = _about(test)
            near = ((name, way, rate + one, bandwidth + two) for one in _NEAR for two in _NEAR)
            if not any(form in forms.get(key, ()) for key in near for form in better):
                yield test


_NEAR = (-1, 0, 1)


def _about(test: Measurement) -> tuple[str, str | None, int, int]:
    """Job, operation and the rates of a test, which two forms round differently by less than a step."""
    rates = (float(test.metrics.get(key, 0)) for key in ("rate", "bandwidth"))
    steps = [round(math.log(max(rate, 1e-9)) / _STEP) for rate in rates]
    return test.name, test.setting.direction, steps[0], steps[1]


def _with(test: Measurement, paths: dict[tuple[int, int], str], device: str | None) -> Measurement:
    """A test with the path between its GPUs, where the text shows a matrix of paths, and the tool's one device."""
    if test.setting.device is None and device:
        test = replace(test, setting=replace(test.setting, device=device))
    found = re.fullmatch(r"GPU (\d{1,4}) \S{1,3} GPU (\d{1,4})", test.setting.pair or "", re.ASCII)
    path = paths.get((int(found[1]), int(found[2]))) if found else None
    return replace(test, setting=replace(test.setting, path=path)) if path else test


def _refusal(tool: Tool | None, others: Sequence[Tool], foreign: ForeignText, notes: Sequence[str]) -> str:
    """Why nothing was read: the forms that were seen, and what would be read."""
    seen = [f"the output of {other}" for other in others] + foreign.forms() + list(notes)
    what = f"no result of {tool}" if tool else "no result of a known tool"
    begins = f"it begins with {shown(foreign.first[:_HEAD_SHOWN])}"
    listed = "; ".join(seen) if seen else begins
    readable = READ[tool] if tool else "; ".join(READ.values())
    hint = "use pcielab import output for every tool; " if others else ""
    first = f"{foreign.remedy()} " if foreign.remedy() else ""
    return f"{what}: seen: {listed}: {hint}{first}give {readable}"


def _check_last(found: Sequence[Measured], last_test: str, file: Path) -> None:
    """Refuse a text that does not end with the test that ran last."""
    names = [test.name for one in found if one.tool == "nvbandwidth" for test in one.tests]
    if not names:
        raise refusal("conflict", f"--last {last_test}: {file} has no test of nvbandwidth: leave out --last")
    if names[-1] != last_test:
        raise refusal(
            "damaged",
            f"--last {last_test}: {file} ends with {names[-1]}: the text is truncated; copy it again, or give "
            f"--last {names[-1]}",
        )
