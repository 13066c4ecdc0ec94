"""Examine a tree: apply every rule and sort the findings, worst first."""

from collections.abc import Iterator, Sequence
from typing import Literal

from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.branches import Branch
from pcielab.doctor.finding import Finding, Severity
from pcielab.doctor.readings import differences
from pcielab.doctor.rules import RULES
from pcielab.doctor.signs import explained, signs
from pcielab.doctor.symptom import by_symptom, complaint
from pcielab.doctor.tree import Piece, Record, Tree
from pcielab.notebook import Pictured

_ORDER = list(Severity)


class Examination(Pictured, Record):
    """The doctor's report on a machine, as `--format json` writes it."""

    format: Literal["pcielab-doctor-1"] = "pcielab-doctor-1"
    version: Literal[2] = 2
    """Version of the fields: 2 adds `explains`, `explained`, `confirm`, `commands`, `guide` and `pieces` to 1."""
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
    pieces: tuple[Piece, ...] = ()
    """The forms that the source has, and what each was used for."""
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


@refuses_wrong_types
def examine(tree: Tree, more: Sequence[Finding] = (), symptom: str | None = None) -> Examination:
    """Apply every rule to a tree.

    Findings are sorted by severity; of one severity, those come first that explain most of the visible evidence.

    Args:
        tree: The machine.
        more: Further findings, from several readings of the machine.
        symptom: What somebody noticed, as `RX slow`: findings that explain it come first.

    Raises:
        InputError: The symptom is not known.
    """
    shown = signs(tree)
    found = [*more, *(finding for rule in RULES for finding in rule.findings(tree)), *_later(tree)]
    found = [
        finding.model_copy(update={"explained": (*finding.explained, *explained(finding, shown))})
        for finding in found
    ]
    found.sort(key=_rank)
    findings = by_symptom(found, complaint(symptom)) if symptom is not None else tuple(found)
    return Examination(
        source=tree.source,
        functions=len(tree.functions),
        links=len(tree.links),
        hypervisor=tree.host.hypervisor,
        unseen=tree.unseen,
        pieces=tree.pieces,
        findings=findings,
    )


def _rank(finding: Finding) -> tuple[int, int, int, float]:
    """Severity, then the evidence that it explains, then whether it explains any symptom, then what it costs."""
    is_setting = not finding.explains and finding.severity is Severity.NOTE
    return _ORDER.index(finding.severity), -len(finding.explained), is_setting, -finding.lost_gbps


def _later(tree: Tree) -> Iterator[Finding]:
    """What differs in later readings of the same machine, and the errors and warnings that only those have."""
    first = {(finding.rule, finding.device) for rule in RULES for finding in rule.findings(tree)}
    for later in tree.later:
        yield from differences(tree, later)
        for finding in (finding for rule in RULES for finding in rule.findings(later)):
            if finding.severity is not Severity.NOTE and (finding.rule, finding.device) not in first:
                yield finding.model_copy(update={"what": f"{finding.what} ({_since(later)})"})


def _since(later: Tree) -> str:
    return f"in the reading{later.source.rpartition(',')[2]}"
