"""No claim in an answer's words is false. `make claims` asks a thousand questions."""

import os
import re
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import worded_claims
from pcielab import model
from pcielab.analysis.why import Why, why
from pcielab.analysis.why.one_test import why_test
from pcielab.analysis.why.predicted import predicted
from pcielab.kinds.transfers.bounds import system_bounds
from pcielab.library.nics import load_nic
from pcielab.library.profiles.parts import System
from pcielab.work.frames import Frames
from planted_limits import planted
from worded_claims import KINDS, claims, claims_of_batching, claims_of_proof, values_after

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


def test_a_reason_that_holds_a_value_down_is_proved() -> None:
    """A planted limit of the IO-TLB: the value is far below its bound, and the answer says why."""
    case = planted(33)
    assert case is not None
    assert case.test is not None
    test = dict(case.test)
    answer = why_test(case.system, "a random system", test)
    [bounds] = system_bounds(case.system.handle, [test])
    assert bounds is not None
    bound, [before] = (bounds.answer.bound, bounds.answer.gbps), predicted([(case.system, test)])
    assert before is not None
    named = [change for change in answer.changes if f": {change.what} alone gives" in answer.sentences[1]]
    after = dict(zip([change.what for change in named], values_after(case.system, test, named), strict=True))
    [claim] = claims_of_proof(answer, after, bound, before, case.title)
    assert claim.holds, claim
    [false] = claims_of_proof(answer, dict.fromkeys(after, before), bound, before, case.title)
    assert not false.holds


def test_accesses_wait_for_as_many_packets_as_the_nic_says() -> None:
    nic = load_nic("niantic-dpdk").with_({"queues.ring_descriptors": 256})
    frames = Frames(nic, (256,), model.Ethernet(line_gbps=400.0), "tx")
    answer = why(frames, profile="gen5-x16")
    [claim] = claims_of_batching(answer, frames.nic, "tx", "batching")
    assert claim.holds, claim
    [wrong] = claims_of_batching(answer, frames.nic.with_({"queues.ring_descriptors": 128}), "tx", "batching")
    assert not wrong.holds


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
