"""The parameters of a test: their names, values and defaults, from the types of `crates/pcie-workload`.

Each is an option of `pcielab run`, a keyword of `single_test`, an axis of sweeps and suites, a column of tables,
and a row of the reference.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pcielab import _core


@dataclass(frozen=True)
class Parameter:
    """A parameter.

    Attributes:
        key: Its key in stores and JSON.
        word: Its name for people: `--word` on the command line, a keyword in Python, an axis of sweeps.
        heading: Head of its column in tables.
        axis: Its axis in suites; empty if it cannot vary.
        kind: Notation of its values: a `word`, a `size` (`4K`), a `whole` number, or a `switch`.
        default: Its default; None for the device's or the paper's own.
        choices: Words that it can be.
        least: The smallest number.
        most: The largest number.
        meaning: Its description in one line.
    """

    key: str
    word: str
    heading: str
    axis: str
    kind: Literal["word", "size", "whole", "switch"]
    default: Any
    choices: tuple[str, ...]
    least: int | None
    most: int | None
    meaning: str

    @property
    def option(self) -> str:
        """Its option on the command line."""
        return "--" + self.word.replace("_", "-")


def _parameter(key: str, described: Mapping[str, Any], kinds: Mapping[str, Any]) -> Parameter:
    """The parameter of a field with this schema; `kinds` are the schemas of types of words."""
    words = kinds.get(described.get("$ref", "").rpartition("/")[2], {}).get("oneOf", ())
    is_switch, is_size = described.get("type") == "boolean", "x-size" in described
    return Parameter(
        key=key,
        word=described["x-word"],
        heading=described["x-heading"],
        axis=described.get("x-axis", ""),
        kind="word" if words else "switch" if is_switch else "size" if is_size else "whole",
        default=described.get("default"),
        choices=tuple(word["const"] for word in words),
        least=described.get("minimum"),
        most=described.get("maximum"),
        meaning=" ".join(described["description"].split()),
    )


def _parameters() -> tuple[Parameter, ...]:
    kinds = json.loads(_core.TEST_SCHEMAS)
    fields = sorted(kinds["Test"]["properties"].items(), key=lambda field: field[1]["x-column"])
    return tuple(_parameter(key, described, kinds) for key, described in fields)


PARAMETERS = _parameters()
"""All parameters, in the order of columns."""
