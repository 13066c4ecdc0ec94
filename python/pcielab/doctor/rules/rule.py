"""The type of rules, and helpers that rules share."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pcielab.doctor.finding import Finding, Observation, Severity, Sureness, Value
from pcielab.doctor.tree import Function, Tree
from pcielab.library.causes import causes

See = Callable[[Tree], Iterator[Observation]]


@dataclass(frozen=True)
class Rule:
    """A function that looks for one cause of low numbers.

    Attributes:
        name: Name in findings.
        cause: Key of the cause.
        about: The reason, the section of the specification, and when the rule is silent.
        see: The function.
    """

    name: str
    cause: str
    about: str
    see: See

    def findings(self, tree: Tree) -> Iterator[Finding]:
        """Its findings in a tree."""
        return (finding(self.name, self.cause, seen) for seen in self.see(tree))


def finding(name: str, key: str, seen: Observation) -> Finding:
    """An observation with its rule and the evidence for its cause."""
    cause = causes()[key]
    return Finding(
        **dict(seen), rule=name, cause=key, evidence=cause.expect, grade=cause.grade, sources=cause.sources
    )


def rule(cause: str) -> Callable[[See], Rule]:
    """Turn a function into a rule of the same name."""

    def wrap(see: See) -> Rule:
        return Rule(see.__name__.replace("_", "-"), cause, see.__doc__ or "", see)

    return wrap


def judged(
    severity: Severity, sureness: Sureness, device: Function | None, port: Function | None = None
) -> dict[str, Any]:
    """The first fields of an `Observation`."""
    slots = {"device": device and device.slot, "port": port and port.slot}
    return {"severity": severity, "sureness": sureness, **slots}


def value(function: Function | None, name: str, shown: object) -> Value:
    """A value that a finding rests on."""
    return Value(name=name, function=function.slot if function else None, value=str(shown))


def on_edge(edges: Mapping[str, str], function: Function) -> tuple[Value, ...]:
    """The link above a function by the name that `pcielab fabric from` gives it; empty if its file has none."""
    edge = edges.get(function.slot)
    return () if edge is None else (value(None, "fabric edge", edge),)


def short(slot: str) -> str:
    """A slot without the domain 0000, the only one of most machines."""
    return slot.removeprefix("0000:")
