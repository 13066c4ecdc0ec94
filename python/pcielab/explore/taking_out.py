"""A page's content for use without it: commands, Python, a profile, a suite, a sweep."""

from pcielab.explore.compiled import ask_page
from pcielab.explore.question import Question, Systems


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
            "link": system.link.model_dump(mode="json"),
            "sets": question.sets,
            "question": question.of_tests(),
        },
    )
    return found
