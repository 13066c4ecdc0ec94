r"""Read the tree that `lspci -t` draws: which function is below which port, without registers.

    -[0000:00]-+-00.0  Host bridge
               +-01.0-[01]----00.0  Network controller
               \-1c.0-[02-05]--+-00.0

A connector (`+` or `\`) belongs to the bus of the bracket that opened its column.
"""

import re
from collections.abc import Iterator

from pcielab.doctor.tree import MOST_FUNCTIONS, Function

_ROOT = re.compile(r"^[ \t>|]*(?:-|\+-|\\-)?\[(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}(?:-[0-9a-f]{2})?\]-", re.MULTILINE)
_TOKEN = re.compile(
    r"\[(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<bus>[0-9a-f]{2})(?:-(?P<last>[0-9a-f]{2}))?\]"
    r"|(?<=-)(?P<device>[0-9a-f]{2}\.[0-7])|(?P<connector>[+\\])(?=-)"
)
_NAME = re.compile(r"(?<=\S)  (?P<name>\S.*)$")


def bus_tree(text: str) -> tuple[Function, ...]:
    """The functions that a drawing shows, with the buses below bridges; empty if the text has none."""
    if not _ROOT.search(text):
        return ()
    columns: dict[int, tuple[str, int]] = {}
    found: dict[str, Function] = {}
    for line in text.split("\n"):
        for function in _line(line.expandtabs(), columns):
            if len(found) < MOST_FUNCTIONS:
                found.setdefault(function.slot, function)
    return tuple(found[slot] for slot in sorted(found))


def _line(line: str, columns: dict[int, tuple[str, int]]) -> Iterator[Function]:
    """The functions of a line.

    Args:
        line: The line.
        columns: The domain and bus that the connector in each column belongs to; new connectors are added.
    """
    bus: tuple[str, int] | None = None
    device: str | None = None
    slot: str | None = None
    name = _NAME.search(line)
    for token in _TOKEN.finditer(line, 0, name.start() if name else len(line)):
        if token["connector"]:
            bus = columns.setdefault(token.start(), bus) if bus is not None else columns.get(token.start())
        elif token["device"] and bus is not None:
            if slot is not None:
                yield _function(slot, None, None)
            device = token["device"]
            slot = f"{bus[0]}:{bus[1]:02x}:{device}"
        elif token["bus"]:
            below = int(token["bus"], 16)
            if slot is not None:
                yield _function(slot, below, int(token["last"] or token["bus"], 16))
            bus = (token["domain"] or (bus[0] if bus else "0000"), below)
            columns.update(dict.fromkeys(_connectors(line, token.end()), bus))
            slot = None
    if slot is not None:
        yield _function(slot, None, None, name["name"] if name else None)


def _connectors(line: str, end: int) -> Iterator[int]:
    """The column of the connector that follows a bracket."""
    found = re.match(r"-{1,4}\+", line[end:])
    if found:
        yield end + found.end() - 1


def _function(slot: str, below: int | None, last: int | None, name: str | None = None) -> Function:
    return Function.model_construct(
        slot=slot,
        title=f"Device: {name}" if name else "Device: not named",
        secondary_bus=below,
        subordinate_bus=last,
    )
