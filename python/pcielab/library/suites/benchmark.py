"""The micro-benchmarks: a test with its published name and its parameters.

The keys of the parameters are those of `docs/reference/store.md`. The compiled half generates the addresses of a
test, and refuses impossible tests.
"""

from dataclasses import asdict, dataclass
from typing import Any

from pcielab import _core
from pcielab.library.suites.parameters import Cache, Operation, Parameters, Path, Pattern

__all__ = ["BENCHMARKS", "Cache", "Operation", "Parameters", "Path", "Pattern", "Test"]

BENCHMARKS: dict[str, tuple[Operation, Path]] = {
    name: (operation, path) for name, operation, path in _core.PUBLISHED["tests"]
}
"""Operation and path of each micro-benchmark, by its published name. The pointer chase and
those of bandwidth on the command path were not published; they are for devices whose processors issue their own
loads and stores."""

LATENCY_SAMPLES: int = _core.PUBLISHED["latency_samples"]
DETAILS_SAMPLES: int = _core.PUBLISHED["details_samples"]
BANDWIDTH_TRANSACTIONS: int = _core.PUBLISHED["bandwidth_transactions"]
"""Transactions per test in the published suite."""


@dataclass(frozen=True)
class Test:
    """One test of a suite."""

    __test__ = False  # not one of pytest's

    family: str
    name: str
    parameters: Parameters

    def to_dict(self) -> dict[str, Any]:
        """The test as the simulator and the store take it."""
        return {"family": self.family, "name": self.name, "parameters": asdict(self.parameters)}


def published_transactions(operation: Operation, details: bool = False) -> int:
    """Number of transactions of the published suite for a test of this operation."""
    if operation.startswith("bw"):
        return BANDWIDTH_TRANSACTIONS
    return DETAILS_SAMPLES if details else LATENCY_SAMPLES
