"""Titles in words: of a test, of a family of tests, and of a panel of a figure.

Suites name families in short (`lat_cmd_sweep_rd_rnd_08`), and tests as the published ones (`LAT_CMD_RD`). A title
says the same for readers: "command read latency over windows of 1 KiB to 64 MiB, 8 B". Flows of a fabric keep
their names.
"""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import pandas as pd

from pcielab.wording import byte_size

Row: TypeAlias = Mapping[Any, Any]

_OPERATIONS = {
    "lat-rd": ("read", "latency"),
    "lat-wrrd": ("write-then-read", "latency"),
    "lat-chase": ("dependent-read", "latency"),
    "bw-rd": ("read", "bandwidth"),
    "bw-wr": ("write", "bandwidth"),
    "bw-rdwr": ("alternating", "bandwidth"),
}
_PATHS = {"dma": "DMA", "command": "command"}
_WAYS = {
    "uncached": "uncached stores",
    "write-combined": "write-combined stores",
    "write-combined-fenced": "fenced write-combined stores",
    "descriptors": "descriptors",
    "mux": "stores or descriptors",
}
_PACES = {"alone": " one at a time", "stream": " back to back"}
_SWEPT = {
    "size_bytes": "transfer sizes",
    "window_bytes": "windows",
    "offset_bytes": "offsets",
    "frame_bytes": "frames",
    "swept_to": "swept values",
}
_BYTES = {
    "size_bytes": "{}",
    "window_bytes": "window {}",
    "offset_bytes": "offset {}",
    "host_offset_bytes": "host offset {}",
    "device_offset_bytes": "device offset {}",
    "frame_bytes": "frame {}",
    "store_bytes": "stores of {}",
    "stores_up_to_bytes": "stores up to {}",
}
_WORDS = {
    "line_gbps": "{} Gb/s line",
    "lanes": "x{}",
    "generation": "Gen{}",
    "cores": "{} cores",
    "swept_to": "at {}",
    "link": "{}",
    "name": "{}",
    "cache": "{}",
    "flow": "{}",
    "direction": "{}",
    "way": "{}",
    "offset_of": "{}",
    "pattern": "{} order",
}
_SAID = (
    *("size_bytes", "frame_bytes", "window_bytes", "cache", "host_offset_bytes", "device_offset_bytes"),
    *("line_gbps", "direction", "generation", "lanes", "cores", "sharing", "eviction", "flow", "swept_to"),
)
"""Columns in the title of a test, in this order."""
_UNSAID = {
    "host_offset_bytes": 0,
    "device_offset_bytes": 0,
    "cores": 1,
    "eviction": "in-order",
    "sharing": "own-queues",
}
"""Plain values that a title leaves out."""


def value_title(column: str, value: object) -> str:
    """A value of a parameter in words: `64 B`, `window 64 MiB`, `host offset 8 B`, `cold`."""
    if isinstance(value, Real) and float(value).is_integer():
        value = int(float(value))
    if column in _BYTES and isinstance(value, int):
        return _BYTES[column].format(byte_size(value))
    return _WORDS.get(column, column.replace("_", " ") + " {}").format(value)


def tested(row: Row) -> str:
    """What a row tests, in words: `DMA read bandwidth`; its own name if it is of no known kind."""
    return "{} {}{}".format(*_tested(row)).strip()


def _tested(row: Row) -> tuple[str, str, str]:
    """The same in three parts, of which the second tells the tests of a family apart."""
    operation, path, way = (row.get(key) for key in ("operation", "path", "way"))
    if operation in _OPERATIONS and path in _PATHS:
        verb, metric = _OPERATIONS[operation]
        return _PATHS[path], verb, f" {metric}"
    if way in _WAYS:
        return "messages by", _WAYS[way], _PACES.get(str(row.get("pace")), "")
    if row.get("tool") is not None:
        pair = row.get("pair")
        return "", str(row["name"]), f", {pair}" if isinstance(pair, str) else ""
    if "frame_bytes" in row and "direction" in row:
        return "NIC", "frames", ""
    return "", str(row["name"]), ""


def test_title(row: Row) -> str:
    """A test in words: `DMA read bandwidth, 64 B, window 64 MiB, cold`."""
    said = [
        value_title(column, row[column])
        for column in _SAID
        if column in row and not pd.isna(row[column]) and row[column] != _UNSAID.get(column)
    ]
    return ", ".join([tested(row), *said])


def family_title(rows: pd.DataFrame, axis: str) -> str:
    """A family in words: what it tests, over which values of the axis, and the parameters that its rows share.

    Args:
        rows: Its rows, with the columns of parameters, and `operation` and `path` of tests of transfers.
        axis: The column of its horizontal axis.
    """
    values = rows[axis].dropna()
    low, high = (str(value_title(axis, value)) for value in (values.min(), values.max()))
    of = low if low == high else f"{_last_words(axis, low)} to {_last_words(axis, high)}"
    over = f"over {_SWEPT.get(axis, axis)} of {of}" if low != high else f"at {of}"
    shared = [
        value_title(column, rows[column].iloc[0])
        for column in ("size_bytes", "window_bytes", "cache")
        if column != axis and column in rows and rows[column].notna().all() and rows[column].nunique() == 1
    ]
    title = ", ".join([f"{_all_tested(rows)} {over}", *shared])
    return title[0].upper() + title[1:]


def panel_titles(rows: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """The title of each row's panel, from the columns that separate panels."""
    named = _distinct_names(rows)
    return [
        ", ".join(
            named[str(row["name"])] if column == "name" else value_title(column, row[column])
            for column in columns
            if not pd.isna(row[column])
        )
        for row in rows.to_dict("records")
    ]


def _all_tested(rows: pd.DataFrame) -> str:
    """What the rows of a family test: `DMA read, write and alternating bandwidth`."""
    tests = [_tested(row) for row in rows.drop_duplicates(["name"]).to_dict("records")]
    if len({(first, last) for first, _, last in tests}) == 1:
        verbs = list(dict.fromkeys(verb for _, verb, _ in tests))
        return f"{tests[0][0]} {_listed(verbs)}{tests[0][2]}".strip()
    return _listed(list(dict.fromkeys("{} {}{}".format(*words).strip() for words in tests)))


def _distinct_names(rows: pd.DataFrame) -> dict[str, str]:
    """Words for each name of a test; the names themselves where two would have the same words."""
    words = {str(row["name"]): tested(row) for row in rows.drop_duplicates(["name"]).to_dict("records")}
    return words if len(set(words.values())) == len(words) else {name: name for name in words}


def _last_words(axis: str, text: str) -> str:
    """A value without the word of its column: `64 MiB` of `window 64 MiB`."""
    return text.removeprefix(_BYTES.get(axis, _WORDS.get(axis, "{}")).partition("{")[0])


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
