"""Examine a tree: apply every rule and sort the findings, worst first."""

from collections.abc import Sequence
from typing import Literal

from pcielab.doctor.branches import Branch
from pcielab.doctor.finding import Finding, Severity
from pcielab.doctor.rules import RULES
from pcielab.doctor.tree import Record, Tree
from pcielab.notebook import Pictured

_ORDER = list(Severity)


class Examination(Pictured, Record):
    """The doctor's report on a machine, as `--format json` writes it."""

    format: Literal["pcielab-doctor-1"] = "pcielab-doctor-1"
    source: str
    """The file, folder or machine that was read."""
    functions: int
    """Number of functions that were read."""
    links: int
    """Number of links with something on the lower end."""
    hypervisor: str | None
    """The hypervisor, if the machine shows one: then its links may be made up."""
    unseen: tuple[str, ...]
    """Registers and files that could not be read, and how to show them."""
    findings: tuple[Finding, ...]
    """Worst first."""
    tree: tuple[Branch, ...] | None = None
    """Every function with its link, with `--tree`."""

    @property
    def has_errors(self) -> bool:
        """Whether a finding is an error."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def is_complete(self) -> bool:
        """Whether a link was shown, and every register that the doctor reads could be read."""
        return self.links > 0 and not self.unseen


def examine(tree: Tree, more: Sequence[Finding] = ()) -> Examination:
    """Apply every rule to a tree.

    Args:
        tree: The machine.
        more: Further findings, from several readings of the machine.
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
