"""An answer: at most three sentences, the bars of a picture, and the rows of a table."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from pcielab import _core
from pcielab.analysis.why.numbers import percent_text
from pcielab.notebook import Pictured

if TYPE_CHECKING:
    from pcielab.analysis.explain.moved import Contrast

Cell: TypeAlias = str | int | float | bool | None
Level: TypeAlias = Literal["sure", "fairly sure", "not sure"]
Role: TypeAlias = Literal["value", "bound", "change", "cause", "a", "b"]

MOST_SENTENCES = 3


class Words(NamedTuple):
    """The words of an answer.

    Attributes:
        question: The value in question.
        sentences: What binds, how sure that is, and what to change.
        sure: How sure that is.
        best: The change that they name first.
    """

    question: str
    sentences: tuple[str, ...]
    sure: "Certainty"
    best: "Change | None"


@dataclass(frozen=True)
class Certainty:
    """How sure an answer is.

    Attributes:
        level: In words.
        reason: Why, as a clause.
    """

    level: Level
    reason: str

    @property
    def sentence(self) -> str:
        """Both, as a sentence."""
        return f"{self.level.capitalize()}: {self.reason}."


@dataclass(frozen=True)
class Change:
    """A change, and the values with and without it.

    Attributes:
        what: The change, as a noun phrase or as `key old -> new`.
        before: The value without it.
        after: The value that the same engine gives with it.
        unit: `Gb/s`, `GB/s`, or `ns`, where less is better.
        of: What changes: `device`, `link`, `host`, `nic`, `test`, `flows`.
        who: Who can make the change, the easiest first: `workload`, `setting`, `driver`, `slot`,
            `slot-and-device`, `device`, `processor`; empty where nobody said.
        keys: New values by dotted key; those of a NIC begin with `nic.`, those of a test with `test.`.
    """

    what: str
    before: float
    after: float
    unit: str
    of: str
    who: str = ""
    keys: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gain_percent(self) -> float:
        """The improvement: of a rate its growth, of a latency its fall."""
        grown = self.after / self.before - 1
        return 100 * (-grown if self.unit == "ns" else grown)

    @property
    def percent_text(self) -> str:
        """The difference in words: `+18 %` of a rate that grows, `-9 %` of a latency that falls."""
        return percent_text(100 * (self.after / self.before - 1))

    def to_dict(self) -> dict[str, Cell]:
        """The change as plain values."""
        return {
            "what": self.what,
            "of": self.of,
            "who": self.who,
            "before": self.before,
            "after": self.after,
            "unit": self.unit,
            "gain_percent": self.gain_percent,
        }


@dataclass(frozen=True)
class Bar:
    """A bar of the picture.

    Attributes:
        name: Its label.
        value: Its length, in the answer's unit.
        role: `value`: measured or simulated; `bound`; `change`: the value with a change; `cause`: the value with a
            possible cause of the gap; `a` and `b`: the value in the first and in the second of two runs.
    """

    name: str
    value: float
    role: Role


@dataclass(frozen=True, kw_only=True, repr=False)
class Why(Pictured):
    """The answer to a question.

    Attributes:
        question: The value in question, in words.
        sentences: What binds, how sure that is, and what to change; three at most.
        binds: The bound that binds: a word of `pcielab.model`, `line`, an edge of a fabric, or None if no bound
            applies.
        certainty: How sure that is.
        change: The change that gives most; None if none gives anything.
        changes: Every change that was tried, the best first.
        unit: Unit of the bars and changes.
        bars: The value, the bounds, the possible causes of a gap, and the best changes.
        rows: The table.
        notes: Assumptions and omissions.
        contrast: Of two runs, their tests with values and bounds, which a picture draws over size.
    """

    question: str
    sentences: tuple[str, ...]
    binds: str | None
    certainty: Certainty
    change: Change | None
    changes: tuple[Change, ...]
    unit: str
    bars: tuple[Bar, ...]
    rows: tuple[Mapping[str, Cell], ...]
    notes: tuple[str, ...] = ()
    contrast: "Contrast | None" = None

    def __post_init__(self) -> None:
        assert len(self.sentences) <= MOST_SENTENCES, "an answer has three sentences at most"

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain values, as `pcielab why --format json` prints it."""
        return {
            "question": self.question,
            "sentences": list(self.sentences),
            "binds": self.binds,
            "sure": {"level": self.certainty.level, "reason": self.certainty.reason},
            "change": self.change.to_dict() if self.change else None,
            "changes": [change.to_dict() for change in self.changes],
            "bars": [
                {"name": bar.name, "value": bar.value, "unit": self.unit, "role": bar.role} for bar in self.bars
            ],
            "rows": [dict(row) for row in self.rows],
            "notes": list(self.notes),
        }


def read_answer(text: str) -> Why:
    """The answer of the compiled half, which words it."""
    read: dict[str, Any] = json.loads(text)
    return Why(
        question=read["question"],
        sentences=tuple(read["sentences"]),
        binds=read["binds"],
        certainty=Certainty(**read["sure"]),
        change=None if read["change"] is None else Change(**read["change"]),
        changes=tuple(Change(**one) for one in read["changes"]),
        unit=read["unit"],
        bars=tuple(Bar(**one) for one in read["bars"]),
        rows=tuple(read["rows"]),
        notes=tuple(read["notes"]),
    )


def words_of(kind: Literal["limits", "estimated", "simulated"], asked: Mapping[str, Any]) -> "Words":
    """The words of the compiled half about what other engines computed; `asked` as `crates/pcie-why` takes it."""
    read: dict[str, Any] = json.loads(_core.why_words(kind, json.dumps(asked)))
    best = None if read["best"] is None else Change(**read["best"])
    return Words(read["question"], tuple(read["sentences"]), Certainty(**read["sure"]), best)
