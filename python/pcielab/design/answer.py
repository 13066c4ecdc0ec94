"""The answer to a design: the cheapest combination, what binds on each host, how far the optimum can be."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pcielab.design.attacks import Corner

Cell: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True)
class Reached:
    """What the design gives for a target on a host.

    Attributes:
        host: The host.
        target: The target.
        limit: Its limit in words.
        value: The value in the unit of the limit; None where the test is not supported.
        unit: That unit.
        spare_percent: How far the value is from the limit, of the limit; negative where the target is missed.
        bound: What limits the value; empty if nothing is known.
    """

    host: str
    target: str
    limit: str
    value: float | None
    unit: str
    spare_percent: float
    bound: str

    def to_dict(self) -> dict[str, Cell]:
        """It as plain values."""
        return dict(vars(self))


@dataclass(frozen=True)
class Level:
    """The cheapest design at another level of one target, with all others as they are.

    Attributes:
        target: The target.
        share: The level: the share of the target, above 1 where it is tighter; None: the target is left out.
        limit: Its limit at this level, in its unit; None without it.
        cost: The cost of the cheapest design; None if none meets the targets.
        design: The design.
    """

    target: str
    share: float | None
    limit: float | None
    cost: float | None
    design: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """It as plain values."""
        return {**vars(self), "design": dict(self.design)}


@dataclass(frozen=True)
class Counts:
    """The work of a search.

    Attributes:
        combinations: Combinations of the free keys.
        tests: Tests that full enumeration would simulate: each combination on each host for each target.
        simulated: Tests that were simulated for the answer, those of the store included.
        reused: Those of them that were in the store.
    """

    combinations: int
    tests: int
    simulated: int
    reused: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Design:
    """The answer.

    Attributes:
        name: The name of the design file.
        title: One line for people.
        origin: `simulated` or `modelled`: what decided.
        design: The value of each free key; empty if no combination meets all targets.
        cost: Its cost.
        reached: Every host with every target: of the design or, if there is none, of the closest combination that
            was simulated.
        closest: That combination.
        sentences: The answer in words.
        least_cost: The least cost that the closed form does not exclude, whatever the directions of keys.
        gap: The most by which the cost can exceed the optimum if no key had a direction, as a share of the cost.
        cheaper: How many cheaper combinations the closed form, simulations and directions of keys exclude.
        levels: The front: the cheapest designs where one target is left out, looser or tighter.
        corners: The worst corners of the design, worst first.
        counts: The work.
    """

    name: str
    title: str
    origin: str
    design: Mapping[str, Any]
    cost: float | None
    reached: tuple[Reached, ...]
    closest: Mapping[str, Any]
    sentences: tuple[str, ...]
    least_cost: float | None
    gap: float
    cheaper: Mapping[str, int]
    levels: tuple[Level, ...]
    corners: "tuple[Corner, ...]"
    counts: Counts

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    __repr__ = __str__

    @property
    def is_met(self) -> bool:
        """Whether a combination meets all targets."""
        return self.cost is not None

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain values, as `pcielab design --format json` prints it."""
        return {
            "name": self.name,
            "title": self.title,
            "origin": self.origin,
            "design": dict(self.design),
            "cost": self.cost,
            "sentences": list(self.sentences),
            "least_cost": self.least_cost,
            "gap": self.gap,
            "cheaper": dict(self.cheaper),
            "reached": [row.to_dict() for row in self.reached],
            "closest": dict(self.closest),
            "levels": [level.to_dict() for level in self.levels],
            "corners": [corner.to_dict() for corner in self.corners],
            "counts": dict(vars(self.counts)),
        }
