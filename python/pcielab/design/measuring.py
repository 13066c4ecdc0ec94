"""Answer the questions of a search: from its store, or by simulating them on this machine or on Dask.

A store is the journal of a sweep (`pcielab.sweeps.journal`): a line for each finished question, so that a killed
search loses only what was being simulated, and a resumed one asks the same questions in the same order.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pcielab.design.problem import Problem
from pcielab.design.question import Question
from pcielab.design.space import Point
from pcielab.sweeps.cluster import connected
from pcielab.sweeps.journal import Journal
from pcielab.sweeps.run import open_folder
from pcielab.work.options import Samples
from pcielab.work.running import available_cores

Pair: TypeAlias = tuple[int, int]
"""The positions of a host and of a target."""
Answering: TypeAlias = Callable[[Sequence[Question]], list[str]]


@dataclass(frozen=True)
class Measured:
    """What a combination gives for a target on a host.

    Attributes:
        value: The value in the target's unit; None where host or device does not support the test.
        score: How far it is from the limit.
        message: Why it is not supported, or what binds; mostly empty.
    """

    value: float | None
    score: float
    message: str = ""


class Measuring:
    """Answers of questions about a problem; a context manager.

    Attributes:
        simulated: Questions that were simulated.
        reused: Questions whose answer was in the store.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        resume: bool = False,
        jobs: int = 0,
        dask: str | None = None,
    ) -> None:
        self._folder, self._resume = folder, resume
        self._jobs, self._dask = jobs or available_cores(), dask
        self._known: dict[str, str] = {}
        self._journal: Journal | None = None
        self._stack = ExitStack()
        self.simulated = self.reused = self.damaged = 0
        self._asked: set[str] = set()

    def __enter__(self) -> "Measuring":
        if self._folder is not None:
            open_folder(self._folder, resume=self._resume)
            self._journal = self._stack.enter_context(Journal(self._folder))
            self._known, self.damaged = dict(self._journal.known), self._journal.damaged
        self._answering = self._stack.enter_context(
            _on_this_machine(self._jobs) if self._dask is None else _on_dask(self._dask)
        )
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def measure(
        self, problem: Problem, asked: Sequence[tuple[Point, Pair]], need: Callable[[Pair], float]
    ) -> list[Measured]:
        """What combinations give; one whose interval holds the needed score is simulated in full."""
        if not problem.is_simulated:
            return [_bounded(problem, point, pair) for point, pair in asked]
        found = self._each(problem, asked, None)
        near = [
            number
            for number, ((_, pair), one) in enumerate(zip(asked, found, strict=True))
            if one is not None and _is_near(problem, pair, one, need(pair))
        ]
        in_full = self._each(problem, [asked[number] for number in near], "full")
        for number, one in zip(near, in_full, strict=True):
            found[number] = one
        return [_measured(problem, pair, one) for (_, pair), one in zip(asked, found, strict=True)]

    def answers(self, questions: Sequence[Question]) -> list[str]:
        """The answers of questions, in their order; each is simulated once."""
        for question in questions:
            if question.address in self._known and question.address not in self._asked:
                self.reused += 1
            self._asked.add(question.address)
        missing = list({one.address: one for one in questions if one.address not in self._known}.values())
        if missing:
            found = list(zip((one.address for one in missing), self._answering(missing), strict=True))
            self._known.update(found)
            self.simulated += len(found)
            if self._journal is not None:
                self._journal.add(found)
        return [self._known[one.address] for one in questions]

    def _each(
        self, problem: Problem, asked: Sequence[tuple[Point, Pair]], samples: Samples | None
    ) -> list[str | None]:
        """The answers, with these samples, or each with its target's own."""
        questions = [
            problem.question(point, host, target, samples or problem.targets[target].samples)
            for point, (host, target) in asked
        ]
        answers = iter(self.answers([one for one in questions if one is not None]))
        return [None if one is None else next(answers) for one in questions]


def _is_near(problem: Problem, pair: Pair, answer: str, need: float) -> bool:
    """Whether the confidence interval of a value holds the needed one."""
    target = problem.targets[pair[1]]
    interval = target.interval_in(json.loads(answer)["numbers"])
    return interval is not None and target.score(interval[0]) < need <= target.score(interval[1])


def _measured(problem: Problem, pair: Pair, answer: str | None) -> Measured:
    if answer is None:
        return Measured(None, 0.0, "the combination is impossible")
    target, record = problem.targets[pair[1]], json.loads(answer)
    value = target.value_in(record["numbers"]) if record["status"] == "ok" else None
    return Measured(value, target.score(value), record["message"] or "")


def _bounded(problem: Problem, point: Point, pair: Pair) -> Measured:
    """What the closed form gives."""
    host, number = pair
    bound = problem.bound(point, host, number)
    if bound is None:
        return Measured(None, 0.0, "the combination is impossible")
    return Measured(bound[1], problem.targets[number].score(bound[1]), bound[0])


@contextmanager
def _on_this_machine(jobs: int) -> Iterator[Answering]:
    """Simulate in threads: the simulator runs without Python's lock."""
    pool = ThreadPoolExecutor(jobs)
    try:
        yield lambda questions: list(pool.map(Question.answer, questions))
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _on_dask(address: str) -> Iterator[Answering]:
    """Simulate on the workers of a Dask scheduler."""
    with connected(address) as client:
        yield lambda questions: client.gather(client.map(Question.answer, list(questions), pure=False))
