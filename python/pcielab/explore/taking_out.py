"""A page's content for use without it: commands, a profile, a suite, a sweep."""

import shlex
from typing import Any

import tomli_w

from pcielab.explore.answers import SIZES, WINDOWS
from pcielab.explore.question import ASKED, Question, Systems
from pcielab.library.profiles import ResolvedSystem
from pcielab.library.profiles.keys import text_of
from pcielab.library.suites.benchmark import published_name
from pcielab.library.suites.lists import LISTS

_ALWAYS_SAID = ("size", "window")
_DEFAULTS = {one.word: one.default for one in ASKED if one.word not in _ALWAYS_SAID}


def taken_out(question: Question, systems: Systems) -> dict[str, str]:
    """Commands and files by name: `run`, `latency`, `model`, `profile`, `suite`, `sweep`.

    Raises:
        InputError: The system is unknown, or the test impossible.
    """
    system = systems.resolved(question)
    reference = systems.reference(question.system)
    return {
        "run": _run(question, reference, question.bandwidth),
        "latency": _run(question, reference, question.latency) + " --details",
        "model": _model(system),
        "profile": _profile(question, reference, system),
        "suite": _suite(question),
        "sweep": _sweep(question, reference),
    }


def _run(question: Question, reference: str, operation: str) -> str:
    words = ["pcielab", "run", "--profile", reference]
    for key, value in question.sets.items():
        words += ["--set", f"{key}={text_of(value)}"]
    words += ["--test", operation]
    for word, value in question.words().items():
        if value != _DEFAULTS.get(word, ...):
            words += [f"--{word.replace('_', '-')}", str(value)]
    if question.seed != 1:
        words += ["--seed", str(question.seed)]
    return shlex.join([*words, "-o", f"{operation}.db"])


def _model(system: ResolvedSystem) -> str:
    link = system.link
    words = ["pcielab", "model", "bandwidth", "--gen", str(link.generation), "--lanes", str(link.lanes)]
    words += ["--mps", str(link.mps_bytes), "--mrrs", str(link.mrrs_bytes), "--rcb", str(link.rcb_bytes)]
    return shlex.join([*words, *(["--ecrc"] if link.ecrc else []), "--sizes", ",".join(map(str, SIZES))])


def _profile(question: Question, reference: str, system: ResolvedSystem) -> str:
    """A system file with the shown system as base and the changes."""
    name = f"{system.system.name}-changed" if question.sets else system.system.name
    content: dict[str, Any] = {
        "name": name,
        "title": f"What if: {system.title}"[:1000],
        "base": reference,
        "calibrated": False,
        "set": _settings(question),
        "provenance": {"source": "Explored with pcielab; values in [set] are assumptions"},
    }
    return tomli_w.dumps({key: value for key, value in content.items() if value != {}})


def _settings(question: Question) -> dict[str, Any]:
    """The changes for a file: null, which TOML lacks, is written `none`, as in --set."""
    return {key: "none" if value is None else value for key, value in question.sets.items()}


def _suite(question: Question) -> str:
    """A suite of the shown curves; its tests run one after another, so caches carry over."""
    asked = question.words()
    same = {
        LISTS[one.key]: [asked[one.word]]
        for one in ASKED
        if one.word not in _ALWAYS_SAID and (one.kind == "word" or asked[one.word] != one.default)
    }
    bandwidth, latency = (published_name(one, "dma") for one in (question.bandwidth, question.latency))
    sizes = _sizes(question)
    windows = [window for window in WINDOWS if window >= question.size]
    groups: list[dict[str, Any]] = [
        {"family": "sizes", "loop": ["size"], "tests": [bandwidth], "sizes": sizes, "windows": [question.window]},
        {
            "family": "windows",
            "loop": ["window"],
            "tests": [bandwidth],
            "sizes": [question.size],
            "windows": windows,
        },
        {
            "family": "latency",
            "tests": [latency],
            "sizes": [question.size],
            "windows": [question.window],
            "details": True,
        },
    ]
    content = {
        "name": "explored",
        "title": "The curves of a page of pcielab explore",
        "provenance": {
            "source": "pcielab explore",
            "notes": "Rows run one after another and inherit the caches of the row before: the page's numbers are "
            "of separate tests, as in the sweep.",
        },
        "group": [{**group, **same} for group in groups],
    }
    return tomli_w.dumps(content)


def _sizes(question: Question) -> list[int]:
    """The sizes that fit into a page and into the window."""
    fits = [size for size in SIZES if size + max(question.host_offset, question.device_offset) <= 4096]
    return [size for size in fits if size + question.host_offset <= question.window]


def _sweep(question: Question, reference: str) -> str:
    """A sweep over the shown sizes, which gives the page's numbers."""
    words = {word: value for word, value in question.words().items() if value is not None and word != "size"}
    words = {word: value for word, value in words.items() if value != _DEFAULTS.get(word, ...)}
    content: dict[str, Any] = {
        "name": "explored",
        "title": "Bandwidth over size, from a page of pcielab explore",
        "system": reference,
        "set": _settings(question),
        "test": {"test": question.bandwidth, **words},
        "grid": {"size": _sizes(question)},
    }
    return tomli_w.dumps({key: value for key, value in content.items() if value != {}})
