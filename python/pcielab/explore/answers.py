"""Answers of the closed-form model to a question: fast enough to follow a slider."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from pcielab import model
from pcielab.analysis.explain.bounds import bounds_of_tests
from pcielab.analysis.explain.machine_facts import MachineFacts, facts_of_system
from pcielab.analysis.explain.reasons import reasons
from pcielab.analysis.explain.rows import row_of
from pcielab.analysis.explain.words import asked, bound_sentences
from pcielab.explore.question import Question
from pcielab.library.profiles import ResolvedSystem
from pcielab.library.suites.benchmark import Parameters, impossible
from pcielab.model.addresses import with_addresses
from pcielab.model.answers import Answer
from pcielab.model.questions import system_bounds, system_capacities
from pcielab.report.bounds import ethernet_need, ethernet_rates, link_text

_POWERS = tuple(1 << power for power in range(3, 13))
SIZES = tuple(sorted({*_POWERS, 63, 65, 96, 192, 257, 384, 513, 768, 1025, 1280, 1500, 1536, 3072}))
"""Transfer sizes: powers of two from 8 to 4096 B, sizes between them, and sizes next to jumps of bandwidth."""
WINDOWS = tuple(1 << power for power in range(12, 27))
"""Windows: 4 KiB to 64 MiB."""
_SHOWN_CEILINGS = 5


def answer(question: Question, system: ResolvedSystem) -> dict[str, Any]:
    """Everything that a page draws without simulating.

    Raises:
        InputError: The test is impossible.
    """
    facts = facts_of_system(system.system)
    of_sizes, of_windows = _tests(question, "size", SIZES), _tests(question, "window", WINDOWS)
    sizes, windows = [test.size_bytes for test in of_sizes], [test.window_bytes for test in of_windows]
    found = system_bounds(system.to_json(), [asdict(test) for test in (*of_sizes, *of_windows)])
    bounds = [one.answer if one else None for one in found]
    link = facts.model_link
    alone = {"bw-rd": "read", "bw-wr": "write", "bw-rdwr": "rdwr"}[question.bandwidth]

    def ask(link: model.Link) -> list[Answer]:
        rows = model.bandwidth(link, sizes, offset_bytes=question.host_offset)
        return [getattr(row, alone) for row in rows]

    answers = with_addresses(link, facts.low_share(asdict(of_sizes[0])), ask)
    return {
        "title": system.title,
        "link": link_text(link),
        "sizes": _curve("size", sizes, bounds[: len(sizes)]),
        "windows": _curve("window", windows, bounds[len(sizes) :]),
        "references": [
            {"name": "link alone", "size": size, "gbps": one.gbps}
            for size, one in zip(sizes, answers, strict=True)
        ]
        + [
            {"name": f"{rate}G Ethernet", "size": int(need["size_bytes"]), "gbps": need["bandwidth"]}
            for rate in ethernet_rates([link])
            for need in ethernet_need(sizes, rate).to_dict("records")
        ],
        "edges": edges(system),
    }


def _tests(question: Question, word: str, values: Sequence[int]) -> list[Parameters]:
    """The question's test with each value of a word that is possible, its own included."""
    own = question.suite(question.bandwidth).entries[0].parameters
    key = f"{word}_bytes"
    tests = [replace(own, **{key: value}) for value in sorted({*values, getattr(own, key)})]
    return [test for test in tests if impossible(test) is None]


def _curve(word: str, values: Sequence[int], bounds: Sequence[Answer | None]) -> list[dict[str, Any]]:
    return [
        {
            word: value,
            "gbps": one.gbps,
            "binds": one.bound,
            "ceilings": [ceiling.model_dump() for ceiling in one.ceilings[:_SHOWN_CEILINGS]],
        }
        for value, one in zip(values, bounds, strict=True)
        if one is not None
    ]


def edges(system: ResolvedSystem) -> list[dict[str, Any]]:
    """Windows at which caches and IO-TLB are full: name and bytes."""
    capacities = system_capacities(system.to_json())
    found = {
        "DDIO's share": capacities.device_lines_bytes,
        "last-level cache": capacities.host_lines_bytes,
        "IO-TLB": capacities.io_tlb_bytes,
    }
    return [{"name": name, "window": window} for name, window in found.items() if window is not None]


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
