"""Answers to a page that need no simulation: curves as fast as a slider moves, sentences, files to take along.

The compiled half (`crates/pcie-page`) computes them: the page without a server asks the same functions.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from pcielab import _core
from pcielab.explore.question import Question, Systems
from pcielab.kinds.machine_facts import MachineFacts, facts_of_system
from pcielab.kinds.transfers.bounds import bounds_of_tests
from pcielab.kinds.transfers.explain import row_of
from pcielab.kinds.transfers.reasons import reasons
from pcielab.kinds.transfers.words import asked, bound_sentences
from pcielab.library.profiles import ResolvedSystem


def taken_out(question: Question, systems: Systems) -> dict[str, str]:
    """Commands and files by name: `run`, `latency`, `model`, `python`, `profile`, `suite`, `sweep`.

    Raises:
        InputError: The system is unknown, or the test impossible.
    """
    system = systems.resolved(question)
    question.suite(question.bandwidth)
    found: dict[str, str] = ask_page(
        "take-out",
        {
            "reference": systems.reference(question.system),
            "name": system.system.name,
            "title": system.title,
            "link": system.link.dump(),
            "sets": question.sets,
            "question": question.of_tests(),
        },
    )
    return found


def ask_page(name: str, asked: object) -> Any:
    """Answer a request of a page.

    Args:
        name: Its name: `answer`, `plan`, `drawn`, `take-out`, ...
        asked: Its content.

    Raises:
        InputError: The content asks the impossible.
    """
    return json.loads(_core.ask_page(name, json.dumps(asked)))


@cache
def curve_values() -> dict[str, list[int]]:
    """The `sizes` and `windows` of curves, bytes."""
    published = ask_page("published", {})
    return {name: published[name] for name in ("sizes", "windows")}


def answer(question: Question, system: ResolvedSystem) -> dict[str, Any]:
    """Everything that a page draws without simulating.

    Raises:
        InputError: The test is impossible.
    """
    # Refuse with the names of options.
    question.suite(question.bandwidth)
    described = json.loads(system.to_json())
    found: dict[str, Any] = ask_page(
        "answer", {"system": described, "title": system.title, "question": question.of_tests()}
    )
    return found


def why(question: Question, system: ResolvedSystem, operation: str, value: float | None) -> list[str]:
    """Sentences about a test: its parameters, the bound, possible causes of the rest, and a fix.

    The value is the simulated bandwidth, Gb/s; None if not simulated.

    Raises:
        InputError: The test is impossible.
    """
    facts = facts_of_system(system.system)
    parameters = asdict(question.suite(operation).entries[0].parameters)
    sentences = [f"test: {asked(parameters)}"]
    if operation.startswith("lat-"):
        found = reasons(facts, parameters, tags_charged=True)
        return [*sentences, f"added by: {'; '.join(found)}"] if found else sentences
    return [*sentences, *_of_bandwidth(facts, parameters, value)]


def _of_bandwidth(facts: MachineFacts, parameters: Mapping[str, Any], value: float | None) -> list[str]:
    [bounds] = bounds_of_tests(facts, [parameters])
    if bounds is None:
        return ["this system cannot run this test"]
    if value is None:
        return [f"bound: {bounds.answer.bound}, {bounds.answer.gbps:.2f} Gb/s; its point is not simulated yet"]
    scalars = [{"subject": "", "metric": "bandwidth", "unit": "Gb/s", "value": value}]
    record = {"id": 0, "family": "", "name": "", "status": "ok", "parameters": parameters, "scalars": scalars}
    return list(bound_sentences(row_of(facts, record, bounds)))
