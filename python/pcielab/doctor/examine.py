"""Examine a tree with the rules of `crates/pcie-doctor`, and show it and the findings as text.

Records are models of pydantic, which reads them from the compiled half's JSON.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import TypeAdapter

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.finding import Finding, Severity
from pcielab.doctor.tree import Piece, Record, Tree
from pcielab.model.answers import Bound
from pcielab.notebook import Pictured

_MOST_WIDTH = 110


class Branch(Record):
    """A function, with the link above it if it has one."""

    slot: str
    depth: int
    """Number of bridges above it."""
    title: str
    kind: str | None
    speed_gtps: float | None = None
    lanes: int | None = None
    """Negotiated lanes; 0 where nothing is attached."""
    read_gbps: float | None = None
    """Large reads, modelled: the wire with this device's MPS and MRRS."""
    read_bound: Bound | None = None
    write_gbps: float | None = None
    write_bound: Bound | None = None
    raw_gbps: float | None = None
    """Raw bit rate of the link in one direction, after line coding."""
    below_gbps: float | None = None
    """Sum of the raw rates of the device links below it."""
    edge: str | None = None
    """The link above by the name that `pcielab fabric from` gives it."""
    made_up: str | None = None
    """Why the link is not judged: inside a chip, or not a real one."""


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


@refuses_wrong_types
def changes(before: Tree, after: Tree, seconds: float) -> list[Finding]:
    """Findings about rising errors and retrained links between two readings, `seconds` apart."""
    found = _core.machine_changes(before.model_dump_json(), after.model_dump_json(), seconds)
    return TypeAdapter(list[Finding]).validate_json(found)


def branches(tree: Tree) -> list[Branch]:
    """Every function, in depth-first order, every link with its capacity and the demand below it."""
    return TypeAdapter(list[Branch]).validate_json(_core.machine_branches(tree.model_dump_json()))


def describe(examination: Examination, tree: Tree, width: int = _MOST_WIDTH, *, in_order: bool = False) -> str:
    """Every finding, worst first, with its evidence.

    Args:
        examination: The findings.
        tree: The machine.
        width: Letters of a line.
        in_order: Keep the order of the findings, and head each with its severity.
    """
    return _core.describe_examination(examination.model_dump_json(), tree.model_dump_json(), width, in_order)


def finding_text(finding: Finding, tree: Tree, width: int = _MOST_WIDTH) -> str:
    """One finding of a tree, as `describe` writes it."""
    return _core.describe_finding(finding.model_dump_json(), tree.model_dump_json(), width)


def draw(tree: Tree, examination: Examination) -> str:
    """The tree, one function per line, with the modelled rates of its link and the severities of its findings.

    Functions without a link or a finding are counted.
    """
    return _core.draw_machine(tree.model_dump_json(), examination.model_dump_json())
