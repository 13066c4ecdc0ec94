"""Examine a tree with the rules of `crates/pcie-doctor`."""

from collections.abc import Sequence
from typing import Literal

from pydantic import TypeAdapter

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.branches import Branch
from pcielab.doctor.finding import Finding, Severity
from pcielab.doctor.tree import Piece, Record, Tree
from pcielab.notebook import Pictured


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
    findings = TypeAdapter(list[Finding]).dump_json(list(more)).decode()
    return Examination.model_validate_json(_core.examine_machine(tree.model_dump_json(), findings, symptom))
