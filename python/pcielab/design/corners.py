"""The corners of a device on a host: the tests at which it reaches least of what its link allows.

An attack screens the test space: operations and sizes, and for each of them windows in every state of the caches,
offsets, the other socket and busy cores. A corner is a change that lowers the share which a test reaches by
`LEAST_DROP` or more, at the operation and size where it lowers it most. The reproducer is minimal: it differs from
the easiest test of its operation in what the corner needs, and in nothing else.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.design.attacks import CACHES, CELLS, COMBINED, EASY, LEAST_DROP, OFFSETS, Attack, Corner, Test
from pcielab.design.measuring import Measuring
from pcielab.errors import refusal
from pcielab.library.profiles import ResolvedSystem, load_system
from pcielab.sweeps.run import Progress, no_progress
from pcielab.wording import shown
from pcielab.work.running import kept_when_interrupted

_SIDES = {"host_offset": "unaligned on the host", "device_offset": "unaligned on the device"}
_IN_WORDS = {"bw-rd": "reads", "bw-wr": "writes", "bw-rdwr": "reads and writes at once"}
_MOST_OF_A_DROP = 0.9


@refuses_wrong_types
def attack(
    system: ResolvedSystem | str,
    *,
    output: Path | str | None = None,
    resume: bool = True,
    jobs: int = 0,
    dask: str | None = None,
    progress: Progress = no_progress,
) -> list[Corner]:
    """The tests at which a device reaches least of what its link allows, the worst first.

    Args:
        system: A system, or its name.
        output: A folder that keeps every simulated test.
        resume: Continue an existing folder.
        jobs: Threads of this machine; 0 for one per core.
        dask: Address of a Dask scheduler, whose workers simulate instead.
        progress: Called with the tests that are simulated, all of them, and the current step.

    Raises:
        InputError: The system is missing or wrong.
        RunError: The simulation failed, or was stopped.
    """
    found = load_system(system) if isinstance(system, str) else system
    if not isinstance(found, ResolvedSystem):
        raise refusal("wrong-type", f"system is {shown(found)}: give a system, or its name")
    folder = None if output is None else Path(output)
    with (
        kept_when_interrupted(folder),
        Measuring(folder, resume=resume, jobs=jobs, dask=dask) as measuring,
    ):
        name = system if isinstance(system, str) else found.system.name
        sets = "".join(f" --set {shlex.quote(f'{key}={value}')}" for key, value in found.overrides.items())
        command = f"pcielab run --profile {shlex.quote(name)}{sets}"
        return corners_of(found.handle, name, command, measuring, progress=progress)


def corners_of(
    system: _core.System,
    host: str,
    command: str,
    measuring: Measuring,
    cells: Sequence[tuple[str, int]] = CELLS,
    progress: Progress = no_progress,
) -> list[Corner]:
    """The corners of a device on a host, the lowest share first.

    Args:
        system: The system.
        host: Its name in answers.
        command: The command that runs a test on it, without the words of the test.
        measuring: Simulates.
        cells: The operations of the tests, each with a size in bytes.
        progress: Called after each operation and size.
    """
    attack = Attack(system, host, measuring, command)
    easiest = [attack.easy(operation, size) for operation, size in cells]
    for done, easy in enumerate(easiest):
        progress(done, len(cells), f"attacking: {easy.size} B {easy.operation}")
        attack.ask([easy, *_variants(attack, easy)])
    found = [corner for easy in easiest for corner in _corners_of(attack, easy)]
    found += [*_mixed(attack, cells), *_small(attack, cells)]
    worst: dict[str, Corner] = {}
    for corner in found:
        known = worst.get(corner.what, corner)
        drops = {
            **known.drops,
            **{size: max(drop, known.drops.get(size, 0)) for size, drop in corner.drops.items()},
        }
        worst[corner.what] = replace(
            max(known, corner, key=lambda one: one.drop), drops=dict(sorted(drops.items()))
        )
    combined = _combined(attack, list(worst.values()))
    return sorted([*combined, *worst.values()], key=lambda corner: corner.share)


def _variants(attack: Attack, easy: Test) -> list[Test]:
    """The tests that differ from an easy one in one thing, or in window and cache."""
    found = [easy.with_(window=window, cache=cache) for cache in CACHES for window in attack.windows]
    found += [easy.with_(**{side: offset}) for side in _SIDES for offset in OFFSETS]
    return found + [easy.on(changes) for changes in attack.surroundings.values()]


def _corners_of(attack: Attack, easy: Test) -> Iterator[Corner]:
    """The corners of one operation and size."""
    candidates = [*_edges(attack, easy), ("cold caches", easy.with_(cache="cold"), easy)]
    candidates += [(words, easy.with_(**{side: one}), easy) for side, words in _SIDES.items() for one in OFFSETS]
    candidates += [(what, easy.on(changes), easy) for what, changes in attack.surroundings.items()]
    for what, test, without in candidates:
        corner = attack.corner(what, test, without)
        if corner is not None:
            yield corner


def _edges(attack: Attack, easy: Test) -> Iterator[tuple[str, Test, Test]]:
    """The smallest windows that show most of what exceeding a capacity costs, with the easy test beside each.

    Beside a window over the IO-TLB's reach stands the largest one within it. Beside one over a share of the caches
    stands the same window with lines that the caches hold, or the largest one within them.
    """
    for cache, (what, reach) in attack.capacities.items():
        within = [window for window in attack.windows if window <= reach]
        beyond = [window for window in attack.windows if window > reach]
        if not within or not beyond:
            continue
        of = easy.with_(cache=cache or "host-warm")
        tests = [of.with_(window=window) for window in beyond]
        without = [
            easy.with_(window=window) if cache == "device-warm" else of.with_(window=within[-1])
            for window in beyond
        ]
        drops = [
            1 - (attack.share(test) or 0) / (attack.share(one) or 1)
            for test, one in zip(tests, without, strict=True)
        ]
        if max(drops) < LEAST_DROP:
            continue
        first = next(number for number, drop in enumerate(drops) if drop >= _MOST_OF_A_DROP * max(drops))
        yield what, tests[first], without[first]


def _mixed(attack: Attack, cells: Sequence[tuple[str, int]]) -> Iterator[Corner]:
    """Sizes at which reads and writes at once reach less of the link than the lower of both alone."""
    for size in (size for operation, size in cells if operation == "bw-rdwr"):
        alone = [attack.easy(operation, size) for operation in ("bw-rd", "bw-wr")]
        shares = [
            (share, number) for number, test in enumerate(alone) if (share := attack.share(test)) is not None
        ]
        if shares:
            mixed = attack.corner("reads and writes at once", attack.easy("bw-rdwr", size), alone[min(shares)[1]])
            if mixed is not None:
                yield mixed


def _small(attack: Attack, cells: Sequence[tuple[str, int]]) -> Iterator[Corner]:
    """Sizes that reach less of the link than the best one."""
    for operation, words in _IN_WORDS.items():
        tests = [attack.easy(operation, size) for of, size in cells if of == operation]
        shares = [
            (share, number) for number, test in enumerate(tests) if (share := attack.share(test)) is not None
        ]
        for _, number in shares:
            corner = attack.corner(f"small {words}", tests[number], tests[max(shares)[1]])
            if corner is not None:
                yield corner


def _combined(attack: Attack, corners: Sequence[Corner]) -> list[Corner]:
    """The worst combination of corners: the lowest one of rates, with whatever else lowers it further.

    Each change that does not lower it by `LEAST_DROP` is left out, so that the reproducer is minimal.
    """
    rates = [corner for corner in corners if corner.unit == "Gb/s"]
    if not rates:
        return []
    lowest = min(rates, key=lambda corner: corner.share)
    here = Test(lowest.words, lowest.changes)
    while True:
        steps = [_with_corner(here, corner) for corner in rates]
        attack.ask(steps)
        scores = [
            (share, number) for number, test in enumerate(steps) if (share := attack.share(test)) is not None
        ]
        share = attack.share(here)
        if not scores or share is None or min(scores)[0] > share * (1 - LEAST_DROP):
            break
        here = steps[min(scores)[1]]
    corner = attack.corner(COMBINED, here, attack.easy(here.operation, here.size))
    return [] if corner is None or here.key == Test(lowest.words, lowest.changes).key else [corner]


def _with_corner(test: Test, corner: Corner) -> Test:
    """A test with what makes a corner, at its own operation and size."""
    words = {word: value for word, value in corner.words.items() if word not in ("test", "size")}
    harder = {word: value for word, value in words.items() if value != EASY.get(word)}
    return test.on(corner.changes).with_(**harder)
