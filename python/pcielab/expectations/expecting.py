"""`pcielab.expect(...)`: what a machine should give, as a table of questions with bounds, ranges and edges."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import InputError
from pcielab.expectations.answers import Answer, answer
from pcielab.expectations.asking import Asked, questions_of
from pcielab.expectations.machine import Machine
from pcielab.expectations.questions import WORDS, read_question
from pcielab.expectations.reading import read
from pcielab.expectations.tables import shipped_ranges

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Expectation:
    """One row of what a machine should give.

    Attributes:
        asked: The question, and the devices or pairs that it stands for.
        given: The answer; None: the machine lacks a fact.
        missing: The fact that is missing; empty otherwise.
    """

    asked: Asked
    given: Answer | None
    missing: str


@dataclass(frozen=True)
class Expectations:
    """What a machine should give.

    Attributes:
        machine: The machine.
        rows: One for each question.
    """

    machine: Machine
    rows: tuple[Expectation, ...]

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """The rows as a frame: question, devices, bound, range, unit, limit, sureness, rows, unknown."""
        import pandas as pd

        return pd.DataFrame([cells(row) for row in self.rows])

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What was assumed, what is missing, and warnings of single rows, each once."""
        warned = (f"{row.asked.text}: {note}" for row in self.rows if row.given for note in row.given.notes)
        missing = (f"{row.asked.text}: {row.missing}" for row in self.rows if row.missing)
        return tuple(dict.fromkeys((*self.machine.notes, *warned, *missing)))


def cells(row: Expectation) -> dict[str, str | float | None]:
    """A row as the cells of a table."""
    given = row.given
    return {
        "question": row.asked.text,
        "of": row.asked.of,
        "bound": given.bound if given else None,
        "lower": given.lower if given else None,
        "upper": given.upper if given else None,
        "unit": given.unit if given else "",
        "limit": given.limit if given else row.missing,
        "sureness": _sureness(given),
        "rests_on": given.shown_rows if given else "",
    }


def _sureness(given: Answer | None) -> str:
    if given is None:
        return "unknown"
    if given.unknown:
        return f"unknown: {given.unknown[0]}"
    if not given.sites:
        return given.sureness
    return f"{given.sureness}, {given.sites} site{'' if given.sites == 1 else 's'}"


@refuses_wrong_types
def expect(
    machine: str | Path | Sequence[str | Path] | Machine,
    *,
    processor: str | None = None,
    ask: Sequence[str] = (),
) -> Expectations:
    """What a machine should give: bound, expected range, limiting edge, and how sure that is.

    Example:
        pcielab.expect("rome2s-8x4090", ask=["p2p-write gpu0>gpu4"]).frame

    Args:
        machine: A file of a machine or fabric, lspci's output, an NCCL topology, `/sys`, several of one machine,
            or the name of a shipped box.
        processor: Its processor, as `EPYC 9575F`, where the source does not say.
        ask: Questions; by default one for each class of devices and of pairs.

    Returns:
        A row for each question. Ranges come from comparable published figures; the rows' ids are in each answer.

    Raises:
        InputError: The source, the processor or a question is wrong.
    """
    found = machine if isinstance(machine, Machine) else read(machine, processor=processor)
    if ask:
        rows = []
        for text in ask:
            question = read_question(text, found)
            given = answer(found, question, shipped_ranges())
            rows.append(Expectation(Asked(text, WORDS[question.kind], question.kind), given, ""))
        return Expectations(found, tuple(rows))
    return Expectations(found, tuple(_expectation(found, asked) for asked in questions_of(found)))


def _expectation(machine: Machine, asked: Asked) -> Expectation:
    try:
        return Expectation(asked, answer(machine, read_question(asked.text, machine), shipped_ranges()), "")
    except InputError as error:
        return Expectation(asked, None, str(error))
