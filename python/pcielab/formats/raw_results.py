"""Raw results of the NetFPGA design: the format that importer and exporter share.

The design keeps up to 1,000 latencies of a test, or the time of a million transfers, in ticks of a counter at 250
MHz, and its control program writes them to a file (pcie-bench paper, sections 5.2 and 5.4). None was published;
this is our format: text, a section per test, a head of `key=value` words, one number per line.
"""

from dataclasses import dataclass
from typing import Any

from pcielab.formats.published import CACHE_STATES, PATTERNS

FIRST_LINE = "# raw results of a NetFPGA"
COUNTER_NS = 4
"""Length of a tick."""
LATENCIES_MOST = 1_000
TRANSFERS_MOST = 1_000_000
"""Most latencies that the design keeps, and most transfers of its bandwidth tests."""
SIZE_STEP_BYTES = 4
"""Its descriptors count double words."""
IN_ORDER, BY_LENGTH = "in-order", "by-length"
"""Order of latencies: as measured, or sorted if the order was not kept."""

_CACHE_WORDS = {state: word for word, state in CACHE_STATES.items()}
_PATTERN_WORDS = {pattern: word for word, pattern in PATTERNS.items()}


@dataclass(frozen=True)
class Section:
    """One test.

    Attributes:
        head: Its words by key.
        ticks: Its latencies, or the one time of all its transfers.
    """

    head: dict[str, str]
    ticks: tuple[int, ...]

    def text(self) -> str:
        """The section as text of a file."""
        words = " ".join(f"{key}={value}" for key, value in self.head.items())
        return "\n".join([f"#{words}", *map(str, self.ticks)])


def head_of(test: dict[str, Any]) -> dict[str, str]:
    """The words of a test, from its name, family and parameters in one table."""
    return {
        "test": test["name"],
        "family": test["family"],
        "size": str(test["size_bytes"]),
        "window": str(test["window_bytes"]),
        "cache": _CACHE_WORDS[test["cache"]],
        "pattern": _PATTERN_WORDS[test["pattern"]],
        "host_offset": str(test["host_offset_bytes"]),
        "device_offset": str(test["device_offset_bytes"]),
    }
