"""How a capture is read.

Stands alone: every module of this package takes it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes of the file that are read, and their total."""


@dataclass(frozen=True)
class Reading:
    """How to read a capture where its content alone does not say so.

    Attributes:
        format: Name of the format; None: found by the content.
        skip_bytes: Bytes of each packet before its TLP, in a packet capture.
        columns: Columns of a table, by the field that each holds.
        clock_ps: Clock period of a logic analyser's samples.
        clock: Name of the clock, in value changes.
        link_type: Link type of the packets that hold TLPs, in a packet capture.
        time_unit: Unit of times without one: `ps`, `ns`, `us`, `ms` or `s`.
    """

    format: str | None = None
    skip_bytes: int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    clock_ps: int | None = None
    clock: str | None = None
    link_type: int | None = None
    time_unit: str | None = None

    def to_json(self) -> str:
        """The options as the compiled half reads them."""
        return json.dumps(asdict(self) | {"columns": dict(self.columns)})
