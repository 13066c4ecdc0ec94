"""Whether the rows of a run are normal: each bandwidth and latency of transfers, ours or of another tool."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from pcielab._core import Width
from pcielab.analysis.explain.bounds import scalar
from pcielab.analysis.explain.machine_facts import MachineFacts, facts_of, no_link
from pcielab.analysis.explain.rows import matching
from pcielab.analysis.normal.answer import Normal
from pcielab.analysis.normal.judge import judge
from pcielab.analysis.normal.question import Kind, Question, Value, What, kind_of
from pcielab.analysis.normal.tools import tool_questions
from pcielab.errors import InputError
from pcielab.store import Store

_WAYS: Mapping[str, What] = {"rd": "h2d", "wr": "d2h", "rdwr": "both", "wrrd": "latency"}


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
    chosen = set(matching(store, tests))
    of_kind = tool_questions if store.kind == "tool" else _of_transfers
    questions = list(of_kind(store, chosen))
    if line_gbps is not None:
        questions = [replace(question, line_gbps=line_gbps) for question in questions]
    found = [judge(question, store.origin) for question in questions]
    if not found and store.kind == "tool":
        raise InputError(
            f"{store.path}: no number stands for one device, unlike sums and mixed jobs: give another file"
        )
    if not found:
        raise InputError(f"{store.path}: no test has a result: give a finished run, or other tests")
    return found


def _of_transfers(store: Store, chosen: Set[int]) -> Iterator[Question]:
    """The questions of a run of transfers."""
    store.require_kind("transfers", "normal")
    if no_link(store):
        raise InputError(f"{store.path}: unknown link: give one value with --what, --value and --link instead")
    facts = facts_of(store)
    device = str((store.manifest.get("device") or {}).get("name") or "")
    for record in store.records():
        question = _question(record, facts, device) if record["id"] in chosen else None
        if question is not None:
            yield question


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


def _question(record: Mapping[str, Any], facts: MachineFacts, device: str) -> Question | None:
    """The question of a test; None if it has no value."""
    parameters = record["parameters"]
    kind, _, way = str(parameters["operation"]).partition("-")
    link = facts.link
    common: dict[str, Any] = {
        "width": Width(link.generation, link.lanes),
        "engine": "dma",
        "kind": _device_kind(device),
        "size_bytes": int(parameters["size_bytes"]),
        "mps_bytes": link.mps_bytes,
        "device": device,
        "name": f"{record['id']} {record['name']} {parameters['size_bytes']} B",
    }
    if kind == "bw" and (value := scalar(record, "bandwidth")) is not None:
        what = _WAYS[way]
        return Question(what=what, value=Value(value * (2 if what == "both" else 1), "Gb/s", 0.125), **common)
    if kind == "lat" and way == "rd" and (time := scalar(record, "median")) is not None:
        return Question(what="latency", value=Value(time, "ns", 1.0), **common)
    return None


def _device_kind(device: str) -> Kind:
    """The kind of a measuring device: a programmable one, unless its name says otherwise."""
    return kind_of(device, None) or "fpga"


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
