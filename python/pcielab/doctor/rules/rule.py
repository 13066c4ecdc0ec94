"""What a rule is, and the words that rules share."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pcielab.doctor.causes import causes
from pcielab.doctor.finding import Finding, Observation, Value
from pcielab.doctor.tree import Function, Tree

See = Callable[[Tree], Iterator[Observation]]


@dataclass(frozen=True)
class Rule:
    """A function that looks for one thing, with the cause of low numbers that it is about.

    Attributes:
        name: As findings say it.
        cause: Key of the cause.
        about: The reason, the section of the specification, and when it stays silent.
        see: The function.
    """

    name: str
    cause: str
    about: str
    see: See

    def findings(self, tree: Tree) -> Iterator[Finding]:
        """What it sees in a tree, as findings."""
        for seen in self.see(tree):
            yield finding(self.name, self.cause, seen)


def finding(name: str, key: str, seen: Observation) -> Finding:
    """An observation with the rule that made it, and what is known of its cause."""
    cause = causes()[key]
    return Finding(
        **dict(seen), rule=name, cause=key, evidence=cause.expect, grade=cause.grade, sources=cause.sources
    )


def rule(cause: str) -> Callable[[See], Rule]:
    """Make a rule of a function; its name is the function's."""

    def wrap(see: See) -> Rule:
        return Rule(see.__name__.replace("_", "-"), cause, see.__doc__ or "", see)

    return wrap


def value(function: Function | None, name: str, shown: object) -> Value:
    """A value that a finding rests on."""
    return Value(name=name, function=function.slot if function else None, value=str(shown))


def short(slot: str) -> str:
    """A slot as people write it: without the domain that most machines have only one of."""
    return slot.removeprefix("0000:")
