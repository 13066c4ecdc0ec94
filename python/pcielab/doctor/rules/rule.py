"""The type of rules, and helpers that rules share."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pcielab.doctor.finding import Finding, Observation, Severity, Sureness, Symptom, Value
from pcielab.doctor.tree import Function, Tree
from pcielab.library.causes import causes

_GUIDE = "guides/is-my-link-right/"
_SECTIONS = {
    "atomics": "peers",
    "bars": "device-memory",
    "errata": "known-faults-of-hardware",
    "errors": "errors",
    "faults": "errors",
    "host": "the-host",
    "link": "the-link",
    "log": "the-kernels-log",
    "ordering": "ordering",
    "payload": "payload-and-overhead",
    "power": "power-saving",
    "requests": "reads",
    "sharing": "peers",
    "states": "several-readings",
    "whole_path": "power-saving",
}
"""The section of the guide for each module of rules."""
See = Callable[[Tree], Iterator[Observation]]


@dataclass(frozen=True)
class Rule:
    """A function that looks for one cause of low numbers.

    Attributes:
        name: Name in findings.
        cause: Key of the cause.
        about: The reason, the section of the specification, and when the rule is silent.
        see: The function.
        explains: Symptoms that the cause explains.
        confirm: What would confirm the cause.
        section: Heading of its section in the guide, as an anchor.
    """

    name: str
    cause: str
    about: str
    see: See
    explains: tuple[Symptom, ...] = ()
    confirm: str | None = None
    section: str = "the-link"

    def findings(self, tree: Tree) -> Iterator[Finding]:
        """Its findings in a tree."""
        more = {
            "explains": self.explains,
            "confirm": self.confirm,
            "guide": f"{_GUIDE}#{self.section}",
        }
        return (finding(self.name, self.cause, seen, **more) for seen in self.see(tree))


def finding(name: str, key: str, seen: Observation, **more: Any) -> Finding:
    """An observation with its rule, the evidence for its cause, and further fields."""
    cause = causes()[key]
    return Finding(
        **dict(seen), rule=name, cause=key, evidence=cause.expect, grade=cause.grade, sources=cause.sources, **more
    )


def rule(cause: str, *explains: Symptom, confirm: str | None = None) -> Callable[[See], Rule]:
    """Turn a function into a rule of the same name.

    Args:
        cause: Key of the cause.
        explains: Symptoms that the cause explains where they show.
        confirm: What would confirm the cause.
    """

    def wrap(see: See) -> Rule:
        section = _SECTIONS[see.__module__.rpartition(".")[2]]
        return Rule(see.__name__.replace("_", "-"), cause, see.__doc__ or "", see, explains, confirm, section)

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
