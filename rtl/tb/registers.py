"""Registers of the FPGA core, from ``registers.rdl``: addresses, shifts, masks and codes, as attributes."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from description import address_map, constants

_VALUES = {name: value for name, value, _ in constants(address_map())}


def __getattr__(name: str) -> int:
    """A constant by its name."""
    try:
        return _VALUES[name]
    except KeyError:
        raise AttributeError(f"registers.rdl has no {name}") from None
