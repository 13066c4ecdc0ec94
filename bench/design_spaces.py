"""Searches of design spaces beside full enumeration: the same design, and how many simulations a search saves.

`make design-spaces` draws 20 spaces: 14 in which the simulator decides, of up to 2,000 combinations, and 6 in
which the closed form does, of up to 10,000. Each has one or two hosts, three free keys or more with random costs,
and one to three targets at a random share of what the strongest combination reaches. Enumeration asks for each
combination in the order of costs, on each host until a target fails, up to the first that meets all targets.
"""

import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from pcielab.design.knowledge import Knowledge
from pcielab.design.measuring import Measuring
from pcielab.design.problem import Problem, problem_of
from pcielab.design.search import Search
from pcielab.design.spec import DesignFile

SPACES, CLOSED_FORM_EVERY = 20, 3
MOST_SIMULATED, MOST_MODELLED = 2_000, 10_000
HOSTS = ("hsw2620", "snb-iommu", "ib-000", "ib-000-nosp", "e3", "icx-6346", "clx-6234")
DEVICES = ("fpga-xdma", "direct-dma", "netfpga-sume")
KEYS: tuple[tuple[list[str], list[Any]], ...] = (
    (["device.dma.tags"], list(range(2, 33, 2))),
    (["link.mrrs_bytes"], [128, 256, 512, 1024, 2048]),
    (["link.mps_bytes"], [128, 256, 512]),
    (["device.dma.completion_buffer_bytes"], [1024 << shift for shift in range(1, 7)]),
    (["device.dma.completion_buffer_headers"], [16, 32, 64, 128, 256]),
    (["device.dma.outstanding"], [4, 8, 16, 32, 64]),
    (["device.dma.engine.segment_ns", "device.dma.engine.word_ns"], [2, 4, 6.4, 8, 16]),
    (["link.lanes"], [2, 4, 8]),
    (["link.generation"], [1, 2, 3]),
    (["device.dma.request_interval_ns"], [1, 2, 4, 8, 16]),
)
TESTS = ("bw-rd", "bw-wr", "bw-rdwr", "lat-rd")
SIZES = (64, 128, 256, 512, 1024, 2048)
WINDOWS = (8192, 1 << 18, 1 << 22)


def space(number: int, *, closed_form: bool) -> Problem:
    """A random problem, the same for the same number."""
    drawn = random.Random(number)
    most = MOST_MODELLED if closed_form else MOST_SIMULATED
    free: list[dict[str, Any]] = []
    count, wanted = 1, drawn.randint(3, 5)
    for keys, values in drawn.sample(KEYS, len(KEYS)):
        kept = [value for value in values if drawn.random() < 0.9] or values[:1]
        if (len(free) < wanted or count < most / 8) and count * len(kept) <= most:
            free.append({"keys": keys, "values": kept, "cost": costs(drawn, len(kept))})
            count *= len(kept)
    targets = [target(drawn, position, closed_form=closed_form) for position in range(drawn.randint(1, 3))]
    described = {
        "name": f"space-{number}",
        "title": f"Space {number}",
        "hosts": drawn.sample(HOSTS, drawn.randint(1, 2)),
        "decide": "closed-form" if closed_form else "simulation",
        "set": {"device": drawn.choice(DEVICES)},
        "free": free,
        "target": targets,
    }
    shares = [drawn.uniform(0.5, 0.97) for _ in targets]
    return scaled(described, shares)


def costs(drawn: random.Random, count: int) -> list[float]:
    """Costs of the values of a key: rising in five cases of six, in any order otherwise."""
    steps = [round(drawn.uniform(0, 10), 1) for _ in range(count)]
    return [round(sum(steps[: index + 1]), 1) for index in range(count)] if drawn.random() < 5 / 6 else steps


def target(drawn: random.Random, position: int, *, closed_form: bool) -> dict[str, Any]:
    """A random target whose limit is still open."""
    test = drawn.choice(TESTS[:3] if closed_form else TESTS)
    words = {"window": drawn.choice(WINDOWS)}
    limit = "at_most_median_ns" if test.startswith("lat") else "at_least_gbps"
    return {"name": f"{position}", "test": test, "size": drawn.choice(SIZES), "with": words, limit: 1.0}


def scaled(described: dict[str, Any], shares: list[float]) -> Problem:
    """The problem with limits at shares of what the strongest combination reaches on the weaker host."""
    problem = problem_of(DesignFile.model_validate(described), Path())
    strongest = tuple(len(axis.values) - 1 for axis in problem.space.axes)
    with Measuring(jobs=1) as measuring:
        found = measuring.measure(problem, [(strongest, pair) for pair in problem.pairs], lambda _: 1.0)
    for (_, number), one in zip(problem.pairs, found, strict=True):
        table = described["target"][number]
        limit = next(key for key in table if key.startswith("at_"))
        value = one.value or 1.0
        loose = value * shares[number] if limit == "at_least_gbps" else value / shares[number]
        pick = min if limit == "at_least_gbps" else max
        table[limit] = loose if table[limit] == 1.0 else pick(table[limit], loose)
    return problem_of(DesignFile.model_validate(described), Path())


def enumerated(problem: Problem, measuring: Measuring) -> tuple[int, ...] | None:
    """The cheapest combination that meets all targets, by asking for each in the order of costs."""
    for flat in np.argsort(problem.space.costs().ravel(), kind="stable"):
        point = tuple(int(index) for index in np.unravel_index(flat, problem.space.shape))
        for pair in problem.pairs:
            [found] = measuring.measure(problem, [(point, pair)], lambda _: 1.0)
            if found.score < 1:
                break
        else:
            return point
    return None


def main(first: int, last: int) -> int:
    """Search and enumerate the spaces; return the number of different designs."""
    wrong, savings = 0, []
    for number in range(first, last):
        closed_form = number % CLOSED_FORM_EVERY == CLOSED_FORM_EVERY - 1
        problem = space(number, closed_form=closed_form)
        started = time.process_time()
        with Measuring() as measuring:
            knowledge = Knowledge(problem)
            found = Search(knowledge, measuring).cheapest([1.0] * len(problem.targets))
            searched = time.process_time() - started
            asked = len(knowledge.simulated)
            point = enumerated(problem, measuring)
        tests = problem.space.count * len(problem.pairs)
        same = found.point == point
        wrong += not same
        if not closed_form:
            savings.append(tests / max(1, asked))
        print(
            f"{problem.file.name}: {problem.file.decide}, {problem.space.count} combinations, "
            f"{len(problem.pairs)} tests each, {asked} of {tests} asked ({searched:.1f} s), "
            f"{'the same design' if same else f'DIFFERENT: {found.point}, enumeration {point}'}",
            flush=True,
        )
    if savings:
        print(f"simulations saved: {statistics.median(savings):.0f} times fewer in the median")
    print(f"different designs: {wrong}")
    return wrong


if __name__ == "__main__":
    span = [int(word) for word in sys.argv[1:]] or [0, SPACES]
    sys.exit(min(1, main(*span)))
