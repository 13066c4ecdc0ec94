"""Whether the rows of a run are normal: each bandwidth and latency of transfers, ours or of another tool."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pcielab.analysis.normal.answer import Normal, Verdict
from pcielab.analysis.normal.judge import judge
from pcielab.errors import refusal
from pcielab.kinds.explained import matching
from pcielab.kinds.line import Line
from pcielab.kinds.question import Carrier, Question, read_carrier
from pcielab.kinds.rooms import room_of
from pcielab.store import Store
from pcielab.wording import shown


def judge_run(
    store: Store,
    tests: Sequence[str] = (),
    line: Line | None = None,
    *,
    link: str | None = None,
    mps_bytes: int | None = None,
) -> list[Normal]:
    """Each finished test of a run, judged as a value of its own, in the order of the store.

    Args:
        store: A run of transfers, simulated or measured, or an import of what another tool measured.
        tests: Only these: numbers of tests, or parts of their family or name. All, if empty.
        line: Line of the NIC that measured, and where its data lie.
        link: Link of the device, `gen4x16`, of the rows that say none of their own.
        mps_bytes: Maximum payload size, likewise.

    Raises:
        InputError: The run is emulated or of another kind, its link is unknown or another one, or no test has a
            value.
    """
    store.require_speed("normal")
    of_kind = room_of(store).explain.questions
    if of_kind is None:
        store.require_kind("transfers", "normal")
        return []
    questions = list(of_kind(store, set(matching(store, tests))))
    if line is not None:
        questions = [line.of(question) for question in questions]
    if link is not None:
        questions = _linked(questions, read_carrier(link, "--link"), link)
    if mps_bytes is not None:
        questions = [_with_payload(question, mps_bytes) for question in questions]
    found = [judge(question, store.origin) for question in questions]
    if not found:
        raise refusal("missing", f"{store.path}: no test has a result: give a finished run, or other tests")
    return found


def _linked(questions: Sequence[Question], carrier: Carrier, link: str) -> list[Question]:
    """The questions, those without a link with the given one.

    Raises:
        InputError: Every row has another link.
    """
    lacking = [question for question in questions if _lacks_link(question)]
    other = next((one for one in questions if one.width not in (None, carrier)), None)
    if other is not None and not lacking:
        raise refusal("conflict", f"--link {link}: row {shown(other.name)} says {other.width}: leave out --link")
    return [replace(one, width=carrier, link_given=True) if _lacks_link(one) else one for one in questions]


def _lacks_link(question: Question) -> bool:
    """Whether a link is unknown; copies between devices may go over another path, unless through the host."""
    over_link = question.what != "p2p" or question.state == "through-host"
    return question.width is None and over_link


def _with_payload(question: Question, mps_bytes: int) -> Question:
    if question.mps_bytes not in (None, mps_bytes):
        raise refusal("conflict", f"--mps {mps_bytes}: the store says {question.mps_bytes}: leave out --mps")
    return replace(question, mps_bytes=mps_bytes)


def summary(answers: Sequence[Normal], rest: int = 0) -> str:
    """How many rows have which verdict, in a sentence, and what was assumed for their bounds.

    Args:
        answers: The rows that were judged.
        rest: Tests of the run with a result that no question of one device's link fits.
    """
    counts = Counter(answer.verdict for answer in answers)
    parts = [f"{counts[verdict]} {verdict}" for verdict in _ORDER if counts[verdict]]
    alone = counts["nothing to compare with"]
    reasons = [f"{alone} with nothing to compare with"] if alone else []
    reasons += [f"{rest} of no single device's link"] if rest else []
    if reasons:
        parts.append(f"{alone + rest} not comparable ({', '.join(reasons)})")
    origin = f"{answers[0].origin} " if answers and answers[0].origin else ""
    assumed = sorted({answer.bounds[0].assumed for answer in answers if answer.bounds} - {""})
    noted = f" {'; '.join(assumed)}." if assumed else ""
    return f"{len(answers) + rest} {origin}rows: {', '.join(parts)}.{noted}{_given_link(answers)}"


def _given_link(answers: Sequence[Normal]) -> str:
    """Which rows got the asker's link, and that several devices may have several."""
    linked = [answer.question for answer in answers if answer.question.link_given]
    if not linked:
        return ""
    devices = sorted({question.device for question in linked} - {""})
    several = f" of {len(devices)} devices: choose the rows of one with --test" if len(devices) > 1 else ""
    number = "each row" if len(linked) == len(answers) else f"the {len(linked)} rows without a link of their own"
    return f" {linked[0].width} is taken for {number}{several}."


_ORDER: tuple[Verdict, ...] = ("normal", "low", "high", "above the bound", "impossible")
"""Verdicts of rows that were compared, in the order of a sentence."""
_WORST: tuple[Verdict, ...] = ("impossible", "above the bound", "low", "high")
"""Verdicts of rows that fall out, the worst first."""


def fallen_out(answers: Iterable[Normal]) -> list[Normal]:
    """The rows that are not normal, the worst first: by verdict, then by how far they are off."""
    found = [answer for answer in answers if answer.verdict in _WORST]
    return sorted(found, key=lambda answer: (_WORST.index(answer.verdict), -_off(answer)))


def _off(answer: Normal) -> float:
    """How far a row is off what is usual elsewhere, or above its bound, as a factor from 1."""
    value, usual = answer.question.value.plain, answer.elsewhere
    if answer.question.is_time:
        return 1.0 if usual is None else max(value / usual.high, usual.low / value)
    ratio = answer.ratio or 1.0
    if usual is None or answer.verdict in ("impossible", "above the bound"):
        return ratio
    return max(usual.low / ratio, ratio / usual.high)


def folded(answers: Iterable[Normal]) -> list[dict[str, str | int | float | bool | None]]:
    """The rows that do not fall out, counted by what they are, with the least and the largest of their ratios."""
    groups: dict[tuple[str, str, str | None, str | None], list[Normal]] = {}
    for answer in answers:
        if answer.verdict not in _WORST:
            question = answer.question
            key = (answer.verdict, question.what, question.engine, question.state or None)
            groups.setdefault(key, []).append(answer)
    return [
        {
            "verdict": verdict,
            "what": what,
            "engine": engine,
            "state": state,
            "rows": len(members),
            "least_ratio": min(ratios, default=None),
            "most_ratio": max(ratios, default=None),
        }
        for (verdict, what, engine, state), members in groups.items()
        for ratios in [[answer.ratio for answer in members if answer.ratio is not None]]
    ]


def not_asked(store: Store, answers: Iterable[Normal], tests: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The tests with a result that no answer is about, like sums over devices: their numbers and names."""
    asked = {int(answer.question.name.partition(" ")[0]) for answer in answers}
    chosen = {*matching(store, tests)} - asked
    return [test for test in store.test_rows() if test["id"] in chosen and test["status"] == "ok"]


def whole_file(
    store: Store, answers: Sequence[Normal], tests: Sequence[str] = ()
) -> list[dict[str, str | int | float | bool | None]]:
    """Every row of a run as the rows of a table, in the order of the store: also those that nothing compares."""
    rows = [(int(answer.question.name.partition(" ")[0]), row) for answer, row in _with_rows(answers)]
    empty: dict[str, str | int | float | bool | None] = dict.fromkeys(rows[0][1]) if rows else {}
    for test in not_asked(store, answers, tests):
        row = {**empty, "row": f"{test['id']} {test['name']}", "origin": store.origin, "sources": 0}
        rows.append((int(test["id"]), {**row, "verdict": "not comparable", "check": ""}))
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]


def _with_rows(
    answers: Sequence[Normal],
) -> Iterator[tuple[Normal, dict[str, str | int | float | bool | None]]]:
    return zip(answers, rows_of(answers), strict=True)


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
