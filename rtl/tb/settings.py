"""Packs ``settings_t`` of ``registers_pkg``, for modules that have it as a port."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from description import address_map
from register_package import Leaf, leaves


@cache
def layout() -> list[Leaf]:
    """The leaves of ``settings_t``, the highest first."""
    return leaves(address_map(), "settings")


def packed(values: Mapping[str, int]) -> int:
    """``settings_t`` with values by path (``"period.usable"``); other members as after reset.

    Raises:
        AssertionError: A path is unknown, or a value does not fit.
    """
    unknown = set(values) - {leaf.path for leaf in layout()}
    assert not unknown, f"settings_t has no {unknown}"
    bits = 0
    for leaf in layout():
        value = values.get(leaf.path, leaf.reset)
        assert value < 1 << leaf.width, leaf.path
        bits = bits << leaf.width | value
    return bits
