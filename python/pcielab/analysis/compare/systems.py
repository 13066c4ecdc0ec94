"""In which values two systems, or two NICs, differ."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

_NAMES = frozenset({"name", "title", "calibrated", "host.name", "device.name"})
"""Keys that change no number."""
_WORDS_OF_NICS = frozenset({"name", "description", "provenance", "aliases"})
"""Keys of a NIC that change no number; its name is told apart."""


@dataclass(frozen=True)
class Difference:
    """A value that two systems do not share; None where a system lacks the key.

    Attributes:
        key: Dotted key, as for `--set`.
        a: The first system's value.
        b: The second's.
    """

    key: str
    a: Any
    b: Any

    def __str__(self) -> str:
        return f"{self.key} {_text(self.a)} -> {_text(self.b)}"


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    """The leaves in which two resolved systems differ, in the order of the first; none if one is empty."""
    if not a or not b:
        return []
    first, second = dict(_leaves(a)), dict(_leaves(b))
    keys = dict.fromkeys([*first, *second])
    pairs = [Difference(key, first.get(key), second.get(key)) for key in keys if key not in _NAMES]
    # A part of one system that the other lacks: there the key is a leaf, None.
    parts = [pair.key for pair in pairs if pair.a is None and pair.b is None]
    return [pair for pair in pairs if pair.a != pair.b and pair.key not in parts]


def nic_differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    """Two NICs: their names, then the keys in which they differ, as `nic.queues.pairs`; none if one is empty."""
    if not a or not b:
        return []
    names = [Difference("nic", a.get("name"), b.get("name"))] if a.get("name") != b.get("name") else []
    values = [{key: value for key, value in one.items() if key not in _WORDS_OF_NICS} for one in (a, b)]
    return [*names, *(replace(one, key=f"nic.{one.key}") for one in differences(*values))]


def _leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _leaves(inner, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", inner


def _text(value: Any) -> str:
    return f"({len(value)} values)" if isinstance(value, list) else "none" if value is None else str(value)
