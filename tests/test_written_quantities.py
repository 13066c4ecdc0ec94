"""Every form of a quantity that options and files took before they had one grammar means what it meant.

`written_quantities.json` has the answers of the parsers that each took a part of the forms. The forms that had two
readings are refused with both.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pcielab import InputError, _core

BEFORE: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("written_quantities.json").read_text())
TWO_READINGS = ("gb/sec", "mb/sec")
"""Units of rates that were read as bytes."""


def _width(text: str) -> list[int]:
    width = _core.read_width(text, "--link")
    return [width.generation, width.lanes, width.links]


def _value(kind: Any) -> Callable[[str], list[float]]:
    def read(text: str) -> list[float]:
        number, _, scale = _core.read_quantity(text, "--value", kind)
        return [number, scale]

    return read


def _rate(text: str) -> float:
    number, _, scale = _core.read_quantity(text, "--flow", "rate")
    return number * scale


READERS: dict[str, Callable[[str], Any]] = {
    "size": lambda text: _core.read_size(text, "--size"),
    "sizes": lambda text: _core.read_sizes(text, "--sizes"),
    "counts": lambda text: _core.read_counts(text, "--load", 4096),
    "rate": _rate,
    "h2d": _value("rate"),
    "latency": _value("time"),
    "iops": _value("events"),
    "width": _width,
    "whole": lambda text: _core.read_whole(text, "--tags", "count"),
    "number": lambda text: _core.read_number(text, "--misses", "number", ""),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_form_means_what_it_meant(kind: str) -> None:
    before = {text: value for text, value in BEFORE[kind].items() if not text.endswith(TWO_READINGS)}
    assert {text: READERS[kind](text) for text in before} == before


def test_what_may_be_bytes_or_bits_is_refused_with_both() -> None:
    both = [text for text in BEFORE["h2d"] if text.endswith(TWO_READINGS)]
    assert both
    for text in both:
        with pytest.raises(InputError, match=r"may be bytes or bits: give [+\d.e]+[GM]B/s or [+\d.e]+[GM]b/s"):
            READERS["h2d"](text)
