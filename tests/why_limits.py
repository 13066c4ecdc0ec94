"""What `why` says of planted limits, held against the best single change that the schema allows.

    python tests/why_limits.py --count 700 --record limits.jsonl

Cases that the record has are not asked again, so a campaign can be stopped and resumed; `--every 2` takes every
second case, so that two processes share one.
"""

import argparse
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import process_time

from pcielab.analysis.why import Why
from pcielab.analysis.why.nic import OnMachine, why_frames
from pcielab.analysis.why.one_test import why_test
from planted_limits import PLANTS, Planted, planted
from single_changes import best_change

ENOUGH = 0.8
"""The named change gains at least this share of what the best single change gains."""
NOISE_PERCENT = 2.0
"""No key that was not tried gains more than the named change by more points."""
WORDS_MOST = 25


@dataclass(frozen=True)
class Verdict:
    """How an answer stands to its planted limit.

    Attributes:
        number: The case.
        kind: What limits it.
        title: The question.
        is_of_nic: Whether it is about a NIC.
        sentences: The answer.
        binds: What the answer says to bind.
        is_named: Whether the first sentence names the limit, or the last one changes it.
        is_tried: Whether the answer tried the key of the best single change.
        changed: The change that the answer names first; empty if it names none.
        gain: What that gains, percent.
        best: The best single change that the schema allows.
        best_gain: What that gains, percent.
        seconds: Processor time of the answer.
        reference_seconds: Processor time of the best single change.
    """

    number: int
    kind: str
    title: str
    is_of_nic: bool
    sentences: tuple[str, ...]
    binds: str | None
    is_named: bool
    is_tried: bool
    changed: str
    gain: float
    best: str
    best_gain: float
    seconds: float
    reference_seconds: float

    @property
    def is_enough(self) -> bool:
        """Whether the named change gains most of what the best single change gains."""
        return self.gain >= ENOUGH * self.best_gain or self.best_gain < 1.0

    @property
    def is_beaten(self) -> bool:
        """Whether a key that was not tried gains clearly more than the named change."""
        return not self.is_tried and self.best_gain > self.gain + NOISE_PERCENT

    @property
    def is_false_none(self) -> bool:
        """Whether the answer says that nothing helps, although something does."""
        return not self.changed and self.best_gain >= NOISE_PERCENT

    @property
    def is_short(self) -> bool:
        """Whether every sentence has few words."""
        return all(words_in(sentence) <= WORDS_MOST for sentence in self.sentences)

    @property
    def faults(self) -> list[str]:
        """What is wrong with the answer."""
        wrong = {
            f"{self.kind} is not named": not self.is_named,
            "gains too little": not self.is_enough,
            "is beaten": self.is_beaten,
            "says falsely that nothing helps": self.is_false_none,
            "is too long": not self.is_short,
        }
        return [fault for fault, is_so in wrong.items() if is_so]

    @property
    def text(self) -> str:
        """The case, its answer, and the best single change."""
        fault = ", ".join(self.faults) or "right"
        best = f"{self.changed or 'nothing'} {self.gain:+.1f} %, best {self.best} {self.best_gain:+.1f} %"
        times = f"{self.seconds:.1f} and {self.reference_seconds:.1f} s"
        return f"{self.number} {self.kind}: {fault}: {self.title}: {' '.join(self.sentences)} [{best}; {times}]"


def words_in(sentence: str) -> int:
    """How many words and numbers a sentence has; arrows and units of one sign are none."""
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


def ask(case: Planted) -> Why:
    """The answer of `why`."""
    if case.frames is not None:
        return why_frames(case.frames, OnMachine(case.system))
    assert case.test is not None
    return why_test(case.system, "a random system", case.test)


def is_named(case: Planted, answer: Why) -> bool:
    """Whether the first sentence names the limit, or the last one changes it."""
    plant = PLANTS[case.kind]
    said = f"{answer.sentences[0]} {answer.sentences[-1]}"
    is_changed = re.search(rf"(?<![\w.]){re.escape(plant.key)} ", said) is not None
    return answer.binds in plant.binds or is_changed or any(word in said for word in plant.words)


def judged(number: int, *, is_whole: bool = False) -> Verdict | None:
    """The verdict on a case; None if its limit cannot be planted.

    Args:
        number: The case.
        is_whole: Whether every single change is simulated at full length.
    """
    case = planted(number)
    if case is None:
        return None
    began = process_time()
    answer = ask(case)
    answered = process_time()
    best, best_gain = best_change(case, at_once=is_whole)
    ended = process_time()
    change = answer.change
    return Verdict(
        number,
        case.kind,
        case.title,
        case.frames is not None,
        answer.sentences,
        answer.binds,
        is_named(case, answer),
        best.partition(" ")[0] in {key for one in answer.changes for key in one.keys},
        "" if change is None else change.what,
        0.0 if change is None else change.gain_percent,
        best,
        best_gain,
        answered - began,
        ended - answered,
    )


def recorded(path: Path | None) -> dict[int, Verdict | None]:
    """The verdicts of a record by case."""
    if path is None or not path.exists():
        return {}
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {number: None if verdict is None else Verdict(**verdict) for number, verdict in lines}


def judge(numbers: Iterable[int], record: Path | None, *, is_whole: bool = False) -> Iterator[Verdict]:
    """The verdicts on cases, those of the record first taken from there."""
    known = recorded(record)
    for number in numbers:
        verdict = known[number] if number in known else judged(number, is_whole=is_whole)
        if record is not None and number not in known:
            with record.open("a", encoding="utf-8") as file:
                file.write(json.dumps([number, None if verdict is None else asdict(verdict)]) + "\n")
        if verdict is not None:
            yield verdict


def summary(verdicts: list[Verdict]) -> Iterator[str]:
    """Lines with the share of each promise, and processor times."""
    for title, of_these in (
        ("tests", [one for one in verdicts if not one.is_of_nic]),
        ("NICs", [one for one in verdicts if one.is_of_nic]),
    ):
        if not of_these:
            continue
        promises = {
            "named": sum(one.is_named for one in of_these),
            "gain enough": sum(one.is_enough for one in of_these),
            "are beaten": sum(one.is_beaten for one in of_these),
            "say falsely that nothing helps": sum(one.is_false_none for one in of_these),
            "are too long": sum(not one.is_short for one in of_these),
        }
        counts = ", ".join(f"{count} {promise}" for promise, count in promises.items())
        seconds = [one.seconds for one in of_these]
        yield f"{title}: of {len(of_these)} {counts}; median {median(seconds):.1f} s, most {max(seconds):.1f} s"


def main() -> None:
    """Print the verdicts with faults, and the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=700)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--whole", action="store_true", help="simulate every single change at full length")
    asked = parser.parse_args()
    numbers = range(asked.first, asked.first + asked.count, asked.every)
    verdicts = []
    for verdict in judge(numbers, asked.record, is_whole=asked.whole):
        verdicts.append(verdict)
        if verdict.faults:
            print(verdict.text, flush=True)
    print("\n".join(summary(verdicts)))


if __name__ == "__main__":
    main()
