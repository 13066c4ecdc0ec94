"""How much of a test is simulated again, and what is called on the way: for all answers that change a system."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the tests simulated, and their total."""

EFFORT = {"latency_samples": 4096, "bandwidth_transactions": 32768}
"""The most samples of a latency and transactions of a bandwidth."""
