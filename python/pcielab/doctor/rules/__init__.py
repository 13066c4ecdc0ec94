"""The rules: each is a function from a tree to its observations.

A rule's docstring gives the reason, the section of the specification, and when the rule is silent. A new rule
needs a function under `@rule(cause)` in a module of this folder, a tree in `test_rules.py` on which it fires, and
an example in the guide.
"""

from pcielab.doctor.rules import (
    atomics,
    bars,
    errata,
    errors,
    faults,
    host,
    link,
    log,
    ordering,
    payload,
    power,
    requests,
    sharing,
)
from pcielab.doctor.rules.rule import Rule

_MODULES = (faults, link, payload, requests, ordering, errors, power, sharing, atomics, host, bars, errata, log)
RULES: tuple[Rule, ...] = tuple(
    found for module in _MODULES for found in vars(module).values() if isinstance(found, Rule)
)
"""Every rule, in the order of the reference; findings are sorted by cost."""
