"""Solve a design: search, then ask what each target costs, and where the design is weakest."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pcielab._core import read_size
from pcielab.argument_types import refuses_wrong_types
from pcielab.design.answer import Counts, Design, Level, Reached
from pcielab.design.attacks import LATENCIES, RATES, Corner
from pcielab.design.corners import corners_of
from pcielab.design.knowledge import Knowledge
from pcielab.design.measuring import Measuring
from pcielab.design.problem import Problem, load_problem
from pcielab.design.search import Found, Search
from pcielab.design.space import Point
from pcielab.design.targets import Target
from pcielab.design.words import sentences
from pcielab.errors import refusal
from pcielab.sweeps.run import Progress, no_progress
from pcielab.work.running import kept_when_interrupted

LEVELS = (0.5, 0.75, 0.9, 1.0, 1.1, 1.25)
"""Levels of the front, as shares of each target: above 1 it is tighter."""


@refuses_wrong_types
def design(
    spec: str | Path | Problem,
    *,
    output: Path | str | None = None,
    resume: bool = True,
    jobs: int = 0,
    dask: str | None = None,
    front: bool = True,
    corners: bool = True,
    progress: Progress = no_progress,
) -> Design:
    """The cheapest design that meets its targets on its hosts.

        print(pcielab.design.design("nic.toml"))

    Args:
        spec: A design file, or a problem made by `load_problem`.
        output: A folder that keeps every simulated test, so that none is simulated twice.
        resume: Continue an existing folder.
        jobs: Threads of this machine; 0 for one per core.
        dask: Address of a Dask scheduler (`tcp://HOST:PORT`), whose workers simulate instead.
        front: Also find the cheapest designs where one target is left out, looser or tighter.
        corners: Also search the worst corners of the design.
        progress: Called with the combinations that are excluded, all of them, and the current step.

    Raises:
        InputError: The file is wrong; the message names the file, the key, the value and the remedy.
        RunError: The simulation failed, or was stopped; finished tests are in the folder.
    """
    problem = spec if isinstance(spec, Problem) else load_problem(spec)
    folder = None if output is None else Path(output)
    with (
        kept_when_interrupted(folder),
        Measuring(folder, resume=resume, jobs=jobs, dask=dask) as measuring,
    ):
        solver = min(
            (_Solver(one, measuring, progress) for one in _alternatives(problem)), key=lambda solver: solver.rank
        )
        return solver.answer(front=front, corners=corners)


def _alternatives(problem: Problem) -> list[Problem]:
    """The problem, or one for each host where any of them will do."""
    if problem.file.on == "all":
        return [problem]
    return [replace(problem, hosts=(host,), _kept={}) for host in problem.hosts]


class _Solver:
    """The search of one problem, and the questions that follow it."""

    def __init__(self, problem: Problem, measuring: Measuring, progress: Progress) -> None:
        self._problem, self._measuring, self._progress = problem, measuring, progress
        _check_decidable(problem)
        self._step = "searching"
        self._knowledge = Knowledge(problem, progress)
        self._search = Search(self._knowledge, measuring, self._show)
        self._needs = [1.0] * len(problem.targets)
        self._found = self._search.cheapest(self._needs)
        self._counts = self._counted()

    @property
    def rank(self) -> float:
        """The cost; infinite if no combination meets the targets."""
        return float("inf") if self._found.cost is None else self._found.cost

    def answer(self, *, front: bool, corners: bool) -> Design:
        """The answer, with its front and its corners."""
        found, space = self._found, self._problem.space
        shown = found.point if found.point is not None else self._closest()
        reached = tuple(self._reached(shown))
        levels = self._levels() if front else ()
        worst: tuple[Corner, ...] = ()
        if corners and found.point is not None:
            self._step = "attacking"
            worst = self._corners(found.point)
        answer = Design(
            name=self._problem.file.name,
            title=self._problem.title,
            origin="simulated" if self._problem.is_simulated else "modelled",
            design={} if found.point is None else space.named(found.point),
            cost=found.cost,
            reached=reached,
            closest=space.named(shown),
            sentences=(),
            least_cost=found.least_by_bounds,
            gap=found.gap,
            cheaper={
                "all": found.cheaper,
                "by_closed_form": found.by_bounds,
                "by_simulation": found.by_simulation,
                "by_direction": found.by_direction,
            },
            levels=levels,
            corners=worst,
            counts=self._counts,
        )
        return replace(answer, sentences=sentences(answer))

    def _counted(self) -> Counts:
        pairs, space = len(self._problem.pairs), self._problem.space
        return Counts(space.count, space.count * pairs, len(self._knowledge.simulated), self._measuring.reused)

    def _closest(self) -> Point:
        """Of the simulated combinations the one whose worst score is the best; without any, that of the bounds."""
        worst: dict[Point, float] = {}
        for (point, _), measured in self._knowledge.simulated.items():
            worst[point] = min(worst.get(point, float("inf")), measured.score)
        if worst:
            return max(sorted(worst), key=lambda point: worst[point])
        bounds = self._knowledge.bound.min(axis=(0, 1))
        return tuple(int(index) for index in np.unravel_index(bounds.argmax(), bounds.shape))

    def _reached(self, point: Point) -> list[Reached]:
        """What a combination gives for every target on every host; what is missing is simulated."""
        missing = [(point, pair) for pair in self._problem.pairs if (point, pair) not in self._knowledge.simulated]
        for (_, pair), measured in zip(
            missing, self._measuring.measure(self._problem, missing, lambda _: 1.0), strict=True
        ):
            self._knowledge.learn(point, pair, measured)
        rows = []
        for host, target in self._problem.pairs:
            measured = self._knowledge.simulated[point, (host, target)]
            of, asked = self._problem.hosts[host], self._problem.targets[target]
            bound = self._problem.bound(point, host, target)
            binding = bound[0] if bound else measured.message
            spare = 100 * (measured.score - 1)
            rows.append(Reached(of.name, asked.name, asked.in_words, measured.value, asked.unit, spare, binding))
        return rows

    def _levels(self) -> tuple[Level, ...]:
        rows = []
        for number, target in enumerate(self._problem.targets):
            self._step = f"front of {target.name}"
            # A tighter share of drops has no meaning.
            shares = LEVELS if target.limit != "at_most_dropped_share" else (1.0,)
            for share in (None, *shares):
                needs: list[float | None] = [*self._needs]
                needs[number] = share
                found = self._found if share == 1 else self._search.cheapest(needs)
                limit = None if share is None else target.value * share if target.is_rate else target.value / share
                rows.append(Level(target.name, share, limit, found.cost, self._named(found)))
        return tuple(rows)

    def _named(self, found: Found) -> dict[str, Any]:
        return {} if found.point is None else self._problem.space.named(found.point)

    def _corners(self, point: Point) -> tuple[Corner, ...]:
        """The corners of the operations and sizes of the targets."""
        cells = [_cell(target) for target in self._problem.targets if target.kind == "transfers"]
        cells = [cell for cell in dict.fromkeys(cells) if cell[0] in (*RATES, *LATENCIES)]
        worst: list[Corner] = []
        for host, of in enumerate(self._problem.hosts):
            system = self._problem.system(host, point)
            assert system is not None, "a design is possible on every host"
            found = corners_of(system, of.name, self._problem.command(host, point), self._measuring, cells)
            worst += [replace(corner, misses=self._missed_by(corner)) for corner in found]
        return tuple(sorted(worst, key=lambda corner: corner.share))

    def _missed_by(self, corner: Corner) -> str:
        """The target of a corner's operation and size that it misses; empty if it meets them, or has none."""
        limit = "at_least_gbps" if corner.unit == "Gb/s" else "at_most_median_ns"
        return next(
            (
                target.name
                for target in self._problem.targets
                if target.limit == limit
                and _cell(target) == (corner.words["test"], corner.words["size"])
                and target.score(corner.value) < 1
            ),
            "",
        )

    def _show(self, excluded: int, count: int, cost: float | None) -> None:
        best = "" if cost is None else f", cheapest so far {cost:g}"
        self._progress(excluded, count, f"{self._step}: {self._measuring.simulated} simulated{best}")


def _cell(target: Target) -> tuple[str, int]:
    """The operation and the size of a target of transfers."""
    return str(target.words.get("test")), read_size(str(target.words.get("size", 64)), "size")


def _check_decidable(problem: Problem) -> None:
    """Refuse targets that the closed form cannot decide, where it decides."""
    if problem.is_simulated:
        return
    without = [target.name for target in problem.targets if not target.has_bound]
    if without:
        raise refusal(
            "unsupported",
            f'decide is closed-form: it knows no {without[0]}: give decide = "simulation", or rates of transfers',
        )
