"""Rates of engines that work on commands: drives, copy engines of GPUs, FPGA shells.

A rate is the least of four bounds: the link with every access of a command on it, the commands in flight, the
engine's commands a second, and the data that the engine itself takes or gives.
"""

from collections.abc import Sequence
from dataclasses import asdict

from pydantic import TypeAdapter

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.library.engines import EngineProfile
from pcielab.library.link import Link
from pcielab.model.answer_list import Answers
from pcielab.model.answers import EngineRates
from pcielab.model.questions import question_json
from pcielab.model.whole_questions import EngineQuestion

_RATES = TypeAdapter(list[EngineRates])


@refuses_wrong_types
def engine(
    profile: EngineProfile, sizes_bytes: Sequence[int], *, link: Link | None = None, depth: int | None = None
) -> list[EngineRates]:
    """The rates that an engine reaches with commands of each size.

    Args:
        profile: The engine; see `load_engine`.
        sizes_bytes: Data of a command: 60 B to 4 KiB, or a multiple of 4 KiB up to 1 GiB.
        link: The link; absent: the engine's usual one.
        depth: Commands in flight; absent: the engine's usual number. `both` has as many in each direction.

    Raises:
        InputError: A size or the depth is out of range.
    """
    question: EngineQuestion = {
        "link": asdict(link) if link else None,
        "sizes_bytes": list(sizes_bytes),
        "depth": depth,
    }
    return Answers(_RATES.validate_json(_core.model_engine(profile.handle, question_json(question))))
