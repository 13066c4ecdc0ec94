"""The addresses of a test's transactions, a second implementation of ``AddressList`` of crates/pcie-workload.

Also the register settings for a test.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

LIST_LENGTH = 1 << 20
PAGE = 4096
WORD = (1 << 64) - 1
PATTERNS = ("fixed", "sequential", "strided", "random")


def swapped(x: int) -> int:
    """Swap the halves of 64 bits."""
    return (x >> 32 | x << 32) & WORD


def squares64(key: int, index: int) -> int:
    """64 random bits (B. Widynski, arXiv:2004.06278)."""
    y = index * key & WORD
    z = y + key & WORD
    x = swapped(y * y + y & WORD)
    x = swapped(x * x + z & WORD)
    x = swapped(x * x + y & WORD)
    x = x * x + z & WORD
    return x ^ ((swapped(x) ** 2 + y & WORD) >> 32)


def below(key: int, index: int, bound: int) -> int:
    """Uniform in 0 .. bound-1."""
    return squares64(key, index) * bound >> 64


@dataclass(frozen=True)
class AddressList:
    """The parameters of a test's address list."""

    size: int
    window: int
    host_offset: int = 0
    pattern: str = "random"
    stride: int = 1
    key: int = 1
    transactions: int = 1 << 20
    is_latency: bool = False

    @property
    def unit_bytes(self) -> int:
        """Bytes of a unit: transfer and offset, in whole cache lines."""
        return -(-(self.size + self.host_offset) // 64) * 64

    @property
    def period(self) -> int:
        """Units after which page crossings repeat."""
        return PAGE // gcd(self.unit_bytes, PAGE)

    @property
    def usable_in_period(self) -> list[int]:
        """Units of a period that do not cross a page."""

        def crosses(unit: int) -> bool:
            start = unit * self.unit_bytes + self.host_offset
            return start // PAGE != (start + self.size - 1) // PAGE

        return [unit for unit in range(self.period) if not crosses(unit)]

    @property
    def usable(self) -> int:
        """Number of usable units of the window."""
        count = self.window // self.unit_bytes
        rest = sum(unit < count % self.period for unit in self.usable_in_period)
        return count // self.period * len(self.usable_in_period) + rest

    def index(self, transaction: int) -> int:
        """The list index of a transaction."""
        if self.is_latency:
            return max(transaction - 1, 0) % LIST_LENGTH
        return (self.transactions - transaction - 1) % LIST_LENGTH

    def nth(self, index: int) -> int:
        """The number of the usable unit at a list index."""
        match self.pattern:
            case "fixed":
                return 0
            case "sequential":
                return index % self.usable
            case "strided":
                return index * self.stride % self.usable
            case _:
                return below(self.key, index, self.usable)

    def offset(self, transaction: int) -> int:
        """The offset in the buffer at which a transaction starts."""
        periods, rest = divmod(self.nth(self.index(transaction)), len(self.usable_in_period))
        return (periods * self.period + self.usable_in_period[rest]) * self.unit_bytes + self.host_offset

    def settings(self, first: int = 0) -> dict[str, int]:
        """Register values for a test that starts with transaction ``first``; keys as in ``settings_t``."""
        index = self.index(first)
        step = {"sequential": 1, "strided": self.stride}.get(self.pattern, 0)
        wraps_to = 0 if self.is_latency else LIST_LENGTH - 1
        all_usable = len(self.usable_in_period) == self.period
        return {
            "operation.pattern": PATTERNS.index(self.pattern),
            "operation.backwards": int(not self.is_latency),
            "operation.first_twice": int(self.is_latency and first == 0),
            "key": self.key,
            "list_index": index,
            "usable": self.usable,
            "nth": index * step % self.usable,
            "nth_wrap": wraps_to * step % self.usable,
            "step": step % self.usable,
            "period.all_usable": int(all_usable),
            "period.usable": len(self.usable_in_period),
            "period.length": self.period,
            "reciprocal": -(-(1 << 31) // len(self.usable_in_period)) & 0xFFFFFFFF,
            "unit_bytes": self.unit_bytes,
            "host_offset": self.host_offset,
            "size": self.size,
        }
