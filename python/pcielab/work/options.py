"""Work and its options, shared by all kinds of work and devices."""

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Literal, Protocol, TypeAlias

from pcielab.errors import refusal

WorkKind: TypeAlias = Literal["transfers", "messages", "frames", "lines", "flows"]
Samples: TypeAlias = Literal["full", "adaptive"]
Engine: TypeAlias = Literal["fast", "reference"]

TRACE_LEAST_US, TRACE_MOST_US = 1e-3, 1e4
"""Range of the time of a test whose trace is kept, microseconds."""

ASKED_BY: dict[WorkKind, str] = {
    "transfers": "--test or a suite of transfers",
    "messages": "a suite of messages",
    "frames": "--nic",
    "lines": "--test mem-rd",
    "flows": "`pcielab fabric run`",
}
"""Options that select each kind of work."""


class Work(Protocol):
    """Tests in order: a suite, frames through a NIC, lines of an expander, or flows on a fabric."""

    @property
    def kind(self) -> WorkKind:
        """Kind of the work."""

    @property
    def name(self) -> str:
        """Short name."""

    def to_json(self) -> str:
        """The tests as the compiled half takes them."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run.

    Attributes:
        seed: Seed, 0 to 2^63 - 1. The same version, device, work and seed give the same simulated numbers.
        samples: All transactions of transfers, or as many as the confidence interval needs. None: `adaptive`.
        engine: Engine that simulates bandwidths of transfers; the reference is slower and simpler, and gives the
            same numbers. None: `fast`.
        trace: Microseconds of each test whose trace is kept: TLPs, phases in the parts of the machine, counters.
            It changes no number. None: no trace.
        jobs: Tests to run in parallel; 0: as many as cores and device allow. It changes no number.
        resume: Continue an existing store.
        repeat_damaged: With `resume`, repeat tests whose numbers are damaged.
        overwrite: Replace an existing store.

    Raises:
        InputError: The seed is out of range, or options exclude each other.
    """

    seed: int = 1
    samples: Samples | None = None
    engine: Engine | None = None
    trace: float | None = None
    jobs: int = 0
    resume: bool = False
    repeat_damaged: bool = False
    overwrite: bool = False

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.trace is not None and not TRACE_LEAST_US <= self.trace <= TRACE_MOST_US:
            raise refusal(
                "out-of-range",
                f"--trace {self.trace:g}: give {TRACE_LEAST_US:g} to {TRACE_MOST_US:g} microseconds",
            )
        if self.resume and self.overwrite:
            raise refusal(
                "conflict", "--resume and --overwrite exclude each other: continue the run or start anew"
            )
        if self.repeat_damaged and not self.resume:
            raise refusal("missing", "--repeat-damaged needs --resume")

    def to_json(self, jobs: int, only: Collection[int] | None = None) -> str:
        """The options as the compiled half takes them, with defaults filled in.

        Args:
            jobs: Tests to run in parallel.
            only: Positions of the tests to carry out; None: all.
        """
        positions = None if only is None else sorted(only)
        trace_ns = None if self.trace is None else 1000 * self.trace
        filled = {"samples": self.samples or "adaptive", "jobs": jobs, "only": positions, "trace_ns": trace_ns}
        return json.dumps({**asdict(self), **filled})


def check_seed(seed: int) -> None:
    """Refuse a seed that is out of range."""
    if not 0 <= seed < 1 << 63:
        raise refusal("out-of-range", f"--seed {seed}: give a whole number from 0 to 2^63 - 1")
