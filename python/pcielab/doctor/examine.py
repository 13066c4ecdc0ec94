"""Examining a tree: every rule over it, worst first."""

from collections.abc import Sequence
from typing import Literal

from pcielab.doctor.branches import Branch
from pcielab.doctor.finding import Finding, Severity
from pcielab.doctor.rules import RULES
from pcielab.doctor.tree import Record, Tree

_ORDER = list(Severity)


class Examination(Record):
    """What the doctor says of a machine, as `--format json` writes it."""

    format: Literal["pcielab-doctor-1"] = "pcielab-doctor-1"
    source: str
    """What was read."""
    functions: int
    """How many functions were read."""
    links: int
    """How many links with something on the lower end."""
    hypervisor: str | None
    """What the machine runs under, where it shows that: then its links may be made up."""
    unseen: tuple[str, ...]
    """What could not be read, and what would show it."""
    findings: tuple[Finding, ...]
    """Worst first."""
    tree: tuple[Branch, ...] | None = None
    """Every function with its link, where that was asked for."""

    @property
    def has_errors(self) -> bool:
        """Whether a finding is an error."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


def examine(tree: Tree, more: Sequence[Finding] = ()) -> Examination:
    """Every rule over a tree.

    Args:
        tree: The machine.
        more: Findings that come from more than one reading of it.
    """
    found = [*more, *(finding for rule in RULES for finding in rule.findings(tree))]
    found.sort(key=lambda finding: (_ORDER.index(finding.severity), -finding.lost_gbps))
    return Examination(
        source=tree.source,
        functions=len(tree.functions),
        links=len(tree.links),
        hypervisor=tree.host.hypervisor,
        unseen=tree.unseen,
        findings=tuple(found),
    )
