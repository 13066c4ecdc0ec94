"""A design problem: hosts, targets and space; the system of every combination, its bounds and its questions."""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pcielab import _core
from pcielab.design.question import Question
from pcielab.design.space import Grid, Point, Space, space_of
from pcielab.design.spec import DesignFile, HostTable, located, read_design
from pcielab.design.targets import Target, targets_of
from pcielab.errors import InputError, found_in, refusal
from pcielab.library.message_profiles import load_message_profile
from pcielab.library.nics import load_nic
from pcielab.library.profiles import resolve
from pcielab.work.options import Samples

PORT = "direct-dma"
"""The device whose port and tags a NIC has, unless `set` names another: it does not limit the NIC."""
_NIC, _MESSAGE, _TARGET = "nic.", "message.", "target."
BATCH = 512
"""Combinations whose systems are made at once."""


@dataclass(frozen=True)
class Host:
    """A host of a design.

    Attributes:
        name: Its name in answers.
        title: One line for people.
        handle: Its system with the fixed keys.
        profile: The system by name or path, without them.
        changes: The fixed keys.
    """

    name: str
    title: str
    handle: _core.System
    profile: str
    changes: Mapping[str, Any]


@dataclass(frozen=True)
class Problem:
    """Hosts, targets and free keys.

    Attributes:
        file: The description.
        hosts: The hosts with the fixed keys.
        targets: The targets.
        space: The free keys.
        nic: The NIC of targets of frames, if there is one.
        messages: The message profile of targets of messages, if there is one.
    """

    file: DesignFile
    hosts: tuple[Host, ...]
    targets: tuple[Target, ...]
    space: Space
    nic: Any = None
    messages: Any = None
    _kept: dict[tuple[int, Point], _core.System | None] = field(default_factory=dict, repr=False, compare=False)

    @property
    def title(self) -> str:
        """One line for people."""
        return self.file.title

    @property
    def is_simulated(self) -> bool:
        """Whether the simulator decides."""
        return self.file.decide == "simulation"

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Every host with every target, by their positions."""
        return tuple((host, target) for host in range(len(self.hosts)) for target in range(len(self.targets)))

    def system(self, host: int, point: Point) -> _core.System | None:
        """The system of a combination on a host; None where it is impossible."""
        key = host, point
        if key not in self._kept:
            [self._kept[key]] = self.hosts[host].handle.each_with([self._changes("", point)])
        return self._kept[key]

    def command(self, host: int, point: Point) -> str:
        """The command that runs a test on a host with the device of a combination; words of the test follow."""
        of = self.hosts[host]
        sets = {**of.changes, **self._changes("", point)}
        changes = [f" --set {shlex.quote(f'{key}={_toml(value)}')}" for key, value in sets.items()]
        return f"pcielab run --profile {shlex.quote(of.profile)}{''.join(changes)}"

    def question(self, point: Point, host: int, target: int, samples: Samples) -> Question | None:
        """The question whether a combination meets a target on a host; None where it is impossible."""
        system, asked = self.system(host, point), self.targets[target]
        if system is None:
            return None
        try:
            device, nic = "", None
            if asked.kind == "frames":
                nic = self.nic.with_(self._changes(_NIC, point), "design")
                device = nic.handle.json()
            elif asked.kind == "messages":
                device = self.messages.with_(self._changes(_MESSAGE, point), "design").handle.json()
            work = asked.work(self._changes(_TARGET, point), nic)
        except InputError:
            return None
        return Question(asked.kind, system.json(), device, work, samples)

    def bounds(self, host: int, shown: Callable[[int], None]) -> Grid:
        """Upper bounds of the scores on a host, in closed form: of every target at every combination.

        A target without a bound has an infinite one, an impossible combination has 0. `shown` is called with the
        combinations that are done.
        """
        shape = self.space.shape
        found = np.full((len(self.targets), *shape), np.inf)
        bounded = [number for number, target in enumerate(self.targets) if target.has_bound]
        points = list(np.ndindex(*shape)) if bounded else []
        for first in range(0, len(points), BATCH):
            some = points[first : first + BATCH]
            shown(first)
            changes = [self._changes("", point) for point in some]
            for point, system in zip(some, self.hosts[host].handle.each_with(changes), strict=True):
                if system is None:
                    found[(slice(None), *point)] = 0.0
                    continue
                tests = [self.test(self.targets[number], point) for number in bounded]
                for number, bound in zip(bounded, _bounds(system, tests), strict=True):
                    if bound is not None:
                        found[(number, *point)] = self.targets[number].score(self.targets[number].rate_in(bound))
        return found

    def bound(self, point: Point, host: int, target: int) -> tuple[str, float] | None:
        """What binds a target in closed form, and the bound in its unit; None without one."""
        system, asked = self.system(host, point), self.targets[target]
        if system is None or not asked.has_bound:
            return None
        [found] = _bounds(system, [self.test(asked, point)])
        return None if found is None else (str(found["bound"]), asked.rate_in(found))

    def test(self, target: Target, point: Point) -> dict[str, Any]:
        """The parameters of a target of transfers at a combination."""
        found: dict[str, Any] = json.loads(target.work(self._changes(_TARGET, point), None))["tests"][0][
            "parameters"
        ]
        return found

    def _changes(self, head: str, point: Point) -> dict[str, Any]:
        """The values of a combination for the NIC, the messages or the targets; for systems with an empty head."""
        values = self.space.values(point)
        if head:
            return {key.removeprefix(head): value for key, value in values.items() if key.startswith(head)}
        return {key: value for key, value in values.items() if not key.startswith((_NIC, _MESSAGE, _TARGET))}


def _bounds(system: _core.System, tests: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
    """The bounds of tests, as plain values: there are thousands of them."""
    found: list[dict[str, Any] | None] = json.loads(_core.test_bounds(system, json.dumps(tests)))
    return [None if one is None else one["answer"] for one in found]


def _toml(value: Any) -> str:
    """A value as `--set` reads it."""
    return value if isinstance(value, str) else json.dumps(value)


def load_problem(path: str | Path) -> Problem:
    """The problem of a design file.

    Raises:
        InputError: The file is wrong, or a key that it names; the message names the file, the key and the value.
    """
    file, folder = read_design(path)
    with found_in(path):
        return problem_of(file, folder)


def problem_of(file: DesignFile, folder: Path) -> Problem:
    """The problem of a description.

    Args:
        file: The description.
        folder: The folder to which its paths are relative.

    Raises:
        InputError: As `load_problem`.
    """
    targets, space = targets_of(file), space_of(file.free)
    kinds = {target.kind for target in targets}
    fixed = dict(file.set_)
    nic_sets = {key.removeprefix(_NIC): fixed.pop(key) for key in list(fixed) if key.startswith(_NIC)}
    message_sets = {key.removeprefix(_MESSAGE): fixed.pop(key) for key in list(fixed) if key.startswith(_MESSAGE)}
    if "frames" in kinds:
        fixed = {"device": PORT, **fixed}
    hosts = tuple(_host(table, fixed, folder) for table in file.hosts)
    names = [host.name for host in hosts]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise refusal("conflict", f"hosts: two are called {twice[0]}: give each a name of its own")
    nic = load_nic(located(file.nic, folder), nic_sets) if file.nic else None
    messages = load_message_profile(located(file.messages, folder), message_sets) if file.messages else None
    problem = Problem(file, hosts, targets, space, nic, messages)
    _check(problem)
    return problem


def _host(table: str | HostTable, fixed: Mapping[str, Any], folder: Path) -> Host:
    given = HostTable(system=table) if isinstance(table, str) else table
    profile, changes = located(given.system, folder), {**fixed, **given.set_}
    system = resolve(profile, changes)
    name = given.name or " ".join([given.system, *(f"{key}={value}" for key, value in given.set_.items())])
    return Host(name, system.title, system.handle, profile, changes)


def _check(problem: Problem) -> None:
    """Refuse unknown keys, values and words: each free key is tried alone, from the first combination."""
    space = problem.space
    first: Point = (0,) * len(space.axes)
    for axis in space.axes:
        for head, needed in ((_NIC, problem.nic), (_MESSAGE, problem.messages)):
            if any(key.startswith(head) for key in axis.keys) and needed is None:
                what = "nic" if head == _NIC else "messages"
                raise refusal("missing", f"free key {axis.name}: name {what} above the tables")
        for index in range(len(axis.values)):
            alone = dict.fromkeys(axis.keys, axis.values[index])
            _try(problem, alone)
    words = {
        key.removeprefix(_TARGET): value for key, value in space.values(first).items() if key.startswith(_TARGET)
    }
    for target in problem.targets:
        target.work(words, problem.nic)


def _try(problem: Problem, values: Mapping[str, Any]) -> None:
    """Refuse a value that its key does not allow; one that contradicts another key is part of the search."""
    systems = {key: value for key, value in values.items() if not key.startswith((_NIC, _MESSAGE, _TARGET))}
    try:
        if systems:
            problem.hosts[0].handle.with_(systems)
        of_nic = {key.removeprefix(_NIC): value for key, value in values.items() if key.startswith(_NIC)}
        if of_nic:
            problem.nic.with_(of_nic, "free")
        of_messages = {
            key.removeprefix(_MESSAGE): value for key, value in values.items() if key.startswith(_MESSAGE)
        }
        if of_messages:
            problem.messages.with_(of_messages, "free")
    except InputError as error:
        if error.beside is None and error.kind != "conflict":
            raise
