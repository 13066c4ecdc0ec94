"""What a run carries out, and how: what all kinds of work and of devices share."""

import json
from dataclasses import asdict, dataclass
from typing import Literal, Protocol, TypeAlias

from pcielab.errors import InputError

WorkKind: TypeAlias = Literal["transfers", "messages", "frames", "flows"]
Samples: TypeAlias = Literal["full", "adaptive"]
Engine: TypeAlias = Literal["fast", "reference"]

ASKED_BY: dict[WorkKind, str] = {
    "transfers": "--test or a suite of transfers",
    "messages": "a suite of messages",
    "frames": "--nic",
    "flows": "`pcielab fabric run`",
}
"""How people ask for each kind of work."""


class Work(Protocol):
    """Tests in order: a suite of transfers or of messages, frames through a NIC, or flows on a fabric."""

    @property
    def kind(self) -> WorkKind:
        """What its tests send."""

    @property
    def name(self) -> str:
        """Short name."""

    def to_json(self) -> str:
        """The tests, as the compiled half takes this kind of work."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How work is run.

    Attributes:
        seed: Names the run, 0 to 2^63 - 1. The same version, device, work and seed give the same simulated
            numbers.
        samples: All transactions that transfers ask for, or as many as stable answers need. None: `adaptive`.
        engine: What simulates bandwidths of transfers; the reference is slower and simpler, and gives the same
            numbers. None: `fast`.
        jobs: Tests side by side; 0: as many as there are cores and the device allows. Changes no number.
        resume: Continue the store at the output, if there is one.
        repeat_damaged: With `resume`, repeat tests whose numbers are damaged.
        overwrite: Replace the store at the output, if there is one.

    Raises:
        InputError: The seed is out of range, or options exclude each other.
    """

    seed: int = 1
    samples: Samples | None = None
    engine: Engine | None = None
    jobs: int = 0
    resume: bool = False
    repeat_damaged: bool = False
    overwrite: bool = False

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.resume and self.overwrite:
            raise InputError("--resume and --overwrite exclude each other: continue the run or start anew")
        if self.repeat_damaged and not self.resume:
            raise InputError("--repeat-damaged needs --resume")

    def to_json(self, jobs: int) -> str:
        """The options as the compiled half takes them, with everything decided."""
        return json.dumps({**asdict(self), "samples": self.samples or "adaptive", "jobs": jobs})


def check_seed(seed: int) -> None:
    """Refuse a seed that is out of range.

    Raises:
        InputError: It is.
    """
    if not 0 <= seed < 1 << 63:
        raise InputError(f"--seed {seed}: give a whole number from 0 to 2^63 - 1")
