"""Questions about loads, stores and doorbells of cores to the BARs of devices.

pydantic makes the objects of answers, as in `model/questions.py`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.library.cores import BarProfile, CoreProfile
from pcielab.library.link import Link
from pcielab.model.answer_list import Answers
from pcielab.model.answers import AccessOutcome, AccessTimes, Instruction
from pcielab.model.questions import question_json
from pcielab.model.whole_questions import MmioQuestion

_TIMES = TypeAdapter(list[AccessTimes])
_OUTCOMES = TypeAdapter(list[AccessOutcome])


@dataclass(frozen=True, kw_only=True)
class Access:
    """Accesses of one kind, by each of some cores."""

    instruction: Instruction
    """What the core does."""
    size_bytes: int
    """Bytes of one access: of a copy, a message or a register; 1 B to 1 GiB."""
    width_bytes: int | None = None
    """Bytes of one load or store, 1 to 64; absent: at most 8 where it is uncached, else the widest."""
    cores: int = 1
    """Cores that do the same at once, each with its own part of the BAR."""
    switches: int = 0
    """Switches between the root port and the device."""
    remote: bool = False
    """Whether the device is at the other socket."""
    fenced: bool = False
    """Whether a call with a fence ends it, as a copy does."""
    first_touch: bool = False
    """Whether it touches a page of the BAR for the first time."""
    window_set: bool = False
    """Whether a register of the device is set and read back before, as for a window on its memory."""


@refuses_wrong_types
def mmio(core: CoreProfile, bar: BarProfile, accesses: Sequence[Access], *, link: Link) -> Answers[AccessTimes]:
    """What loads and stores cost: the time of one access, and the rate of many.

    Args:
        core: The core; see `load_core`.
        bar: The device's side; see `load_bar`.
        accesses: Kinds of accesses.
        link: The link between them.

    Raises:
        InputError: An access is out of range, or the core has no such instruction.

    >>> from pcielab import model
    >>> link = model.Link(generation=5, lanes=16, mps_bytes=256, mrrs_bytes=512)
    >>> core, bar = model.load_core("sapphire-rapids-2023"), model.load_bar("gpu")
    >>> access = model.Access(instruction="combined-store", size_bytes=1 << 20)
    >>> [stores] = model.mmio(core, bar, [access], link=link)
    >>> stores.bound, round(stores.gbytes_per_s.usual, 1)
    ('fill-buffers', 24.4)
    """
    return Answers(_TIMES.validate_json(_core.model_mmio(core.handle, bar.handle, _question(accesses, link))))


@refuses_wrong_types
def simulated_mmio(
    core: CoreProfile, bar: BarProfile, accesses: Sequence[Access], *, link: Link
) -> list[AccessOutcome]:
    """The same accesses simulated TLP by TLP, with the usual values of the profiles.

    Args:
        core: The core.
        bar: The device's side.
        accesses: Kinds of accesses, of at most 2^20 TLPs each.
        link: The link between them.

    Raises:
        InputError: An access is out of range, or the core has no such instruction.
    """
    return _OUTCOMES.validate_json(_core.simulate_mmio(core.handle, bar.handle, _question(accesses, link)))


def _question(accesses: Sequence[Access], link: Link) -> str:
    question: MmioQuestion = {"link": asdict(link), "accesses": [asdict(access) for access in accesses]}
    return question_json(question)
