"""Sources of the values of a profile, as the compiled half has read and checked them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

FittedTo: TypeAlias = Literal["measured", "simulated", "rtl", "modelled"]
"""Origins of rows that values can be fitted to. Emulated times mean nothing."""


Unmeasured: TypeAlias = str | Mapping[str, str]
"""Why nobody measured a value: `assumed`, `unidentified`, or `{"borrowed": PROFILE}`."""


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Sources of the values of a file; `crates/pcie-describe/src/provenance.rs` says what its keys mean."""

    source: str
    notes: str = ""
    experimental: str = ""
    origin: FittedTo = "measured"
    fitted: Mapping[str, Sequence[float]] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    unmeasured: Mapping[str, Unmeasured] = field(default_factory=dict)
    others: Unmeasured | None = None

    def of(self, key: str) -> str:
        """The note on a dotted key, or on the innermost table around it that has one."""
        while key:
            if key in self.keys:
                return self.keys[key]
            key = key.rpartition(".")[0]
        return ""
