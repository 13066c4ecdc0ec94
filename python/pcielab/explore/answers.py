"""Answers to a page: curves as fast as a slider moves, sentences of `why`, files to take along.

The compiled half (`crates/pcie-page`) computes them: the page without a server asks the same functions.
"""

import json
from functools import cache
from typing import Any

from pcielab import _core
from pcielab.analysis.why.predicted import no_progress
from pcielab.explore.question import Question, Systems
from pcielab.library.profiles import ResolvedSystem
from pcielab.work.effort import Progress


def taken_out(question: Question, systems: Systems) -> dict[str, str]:
    """Commands and files by name: `run`, `latency`, `why`, `model`, `python`, `profile`, `suite`, `sweep`.

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


def why(
    question: Question, system: ResolvedSystem, operation: str, progress: Progress = no_progress
) -> dict[str, Any]:
    """Why a test gives its value: the answer of `pcielab why`.

    Raises:
        InputError: The test is impossible.
    """
    from pcielab.analysis.why import why as answered

    measured = question.measured if operation == question.bandwidth else None
    return answered(question.suite(operation), profile=system, measured=measured, progress=progress).to_dict()
