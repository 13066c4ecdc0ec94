"""Whether the rows of a run are normal: each bandwidth and latency of transfers, ours or of another tool."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pcielab.analysis.normal.answer import Normal
from pcielab.analysis.normal.judge import judge
from pcielab.errors import refusal
from pcielab.kinds.explained import matching
from pcielab.kinds.rooms import room_of
from pcielab.store import Store


def judge_run(store: Store, tests: Sequence[str] = (), line_gbps: float | None = None) -> list[Normal]:
    """Each finished test of a run, judged as a value of its own, in the order of the store.

    Args:
        store: A run of transfers, simulated or measured, or an import of nvbandwidth, perftest or fio.
        tests: Only these: numbers of tests, or parts of their family or name. All, if empty.
        line_gbps: Line rate of the NIC that measured, Gb/s.

    Raises:
        InputError: The run is emulated or of another kind, its link is unknown, or no test has a value.
    """
    store.require_speed("normal")
    of_kind = room_of(store).explain.questions
    if of_kind is None:
        store.require_kind("transfers", "normal")
        return []
    questions = list(of_kind(store, set(matching(store, tests))))
    if line_gbps is not None:
        questions = [replace(question, line_gbps=line_gbps) for question in questions]
    found = [judge(question, store.origin) for question in questions]
    if not found:
        raise refusal("missing", f"{store.path}: no test has a result: give a finished run, or other tests")
    return found


def summary(answers: Sequence[Normal]) -> str:
    """How many rows have which verdict, in a sentence, and what was assumed for their bounds."""
    counts: dict[str, int] = {}
    for answer in answers:
        counts[answer.verdict] = counts.get(answer.verdict, 0) + 1
    parts = [f"{count} {_VERDICT_WORDS.get(verdict, verdict)}" for verdict, count in counts.items()]
    origin = f"{answers[0].origin} " if answers[0].origin else ""
    assumed = sorted({answer.bounds[0].assumed for answer in answers if answer.bounds} - {""})
    noted = f" {'; '.join(assumed)}." if assumed else ""
    return f"{len(answers)} {origin}rows: {', '.join(parts)}.{noted}"


_VERDICT_WORDS = {"nothing to compare with": "with nothing to compare with"}


def rows_of(answers: Sequence[Normal]) -> Iterator[dict[str, str | int | float | bool | None]]:
    """The answers as the rows of a table."""
    for answer in answers:
        usual = answer.elsewhere
        bound = answer.bounds[0] if answer.bounds else None
        yield {
            "row": answer.question.name,
            "what": answer.question.what,
            "value": answer.question.value.number,
            "unit": answer.unit,
            "origin": answer.origin,
            "bound": answer.in_unit(bound.value) if bound else None,
            "assumed": bound.assumed or None if bound else None,
            "ratio": answer.ratio,
            "low": usual.low if usual else None,
            "high": usual.high if usual else None,
            "sources": usual.sources if usual else 0,
            "verdict": answer.verdict,
            "check": " ".join(one.key for one in answer.causes),
        }
