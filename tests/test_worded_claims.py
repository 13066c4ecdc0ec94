"""No claim in an answer's words is false. `make claims` asks a thousand questions."""

import os
import re
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import worded_claims
from pcielab.analysis.why import Why
from pcielab.library.profiles.parts import System
from worded_claims import KINDS, claims

ASKED = os.environ.get("PCIELAB_CLAIMS")
# Without a number, the first question of each kind.
QUESTIONS = range(int(ASKED) if ASKED else len(KINDS))


def test_every_claim_holds_when_it_is_computed_again() -> None:
    answers = {number: claims(number) for number in QUESTIONS}
    false = [
        f"{number}: {claim.words}: {claim.computed}"
        for number, of_answer in answers.items()
        for claim in of_answer
        if not claim.holds
    ]
    assert not false, "\n".join(false)
    kinds = sorted(KINDS)
    assert {kinds[number % len(kinds)] for number, of_answer in answers.items() if of_answer} == set(kinds)
    assert sum(bool(of_answer) for of_answer in answers.values()) > 0.8 * len(QUESTIONS)


@pytest.mark.parametrize("kind", ["links", "sizing", "messages"])
def test_a_wrong_number_is_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one tag, packet or byte more than the model says, a claim is false."""
    tampered = {
        "links": ("bandwidth", lambda row: row.model_copy(update={"tags_to_fill": (row.tags_to_fill or 1) + 1})),
        "sizing": ("sizing", lambda row: row.model_copy(update={"packets_in_flight": row.packets_in_flight + 1})),
        "messages": ("messages", lambda row: row.model_copy(update={"write_combined": row.descriptors})),
    }
    name, change = tampered[kind]
    original = getattr(worded_claims.model, name)
    changed = lambda *args, **keys: [change(row) for row in original(*args, **keys)]  # noqa: E731
    monkeypatch.setattr(worded_claims.model, name, changed)
    answers = [list(KINDS[kind](Random(number), number)) for number in range(5)]
    assert any(not claim.holds for of_answer in answers for claim in of_answer)


def test_wrong_words_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every rate in the sentences of `why` is a tenth higher."""
    original = worded_claims._why_test

    def exaggerated(system: System, test: dict[str, Any]) -> Why:
        answer = original(system, test)
        higher = [
            re.sub(r"[\d.]+(?= Gb/s)", lambda found: f"{1.1 * float(found[0]):.3g}", sentence)
            for sentence in answer.sentences
        ]
        return replace(answer, sentences=tuple(higher))

    monkeypatch.setattr(worded_claims, "_why_test", exaggerated)
    answers = [list(KINDS["tests"](Random(number), number)) for number in range(2)]
    false = [claim for of_answer in answers for claim in of_answer if not claim.holds]
    assert len(false) >= sum(bool(of_answer) for of_answer in answers) > 0
