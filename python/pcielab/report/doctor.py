"""What a report says of the machines behind its runs: the doctor's findings, and what to check by hand.

Only of runs that carry a text of lspci, or were measured; a simulated machine has nothing to look at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pcielab.analysis.explain import explain_run
from pcielab.analysis.explain.checks import Check, checks
from pcielab.doctor import Examination, Finding, Tree, examine
from pcielab.doctor.rules.rule import short
from pcielab.doctor.stores import ATTACHMENT, tree_of_store
from pcielab.errors import InputError
from pcielab.report.run import Run


@dataclass(frozen=True)
class Shown:
    """A finding as the report shows it.

    Attributes:
        finding: What was found.
        device: Slot and title of the function; `the machine` where it is about none.
        cost: What it costs by the model, in words; empty where nothing is known.
    """

    finding: Finding
    device: str
    cost: str


@dataclass(frozen=True)
class Machine:
    """One run's machine.

    Attributes:
        entry: The run, as legends call it.
        examination: Of its text of lspci; None where it has none.
        findings: What the doctor says, worst first.
        checks: What to check by hand.
        problem: Why its text could not be read; None where it could.
    """

    entry: str
    examination: Examination | None
    findings: tuple[Shown, ...]
    checks: tuple[Check, ...]
    problem: str | None = None


def machines(runs: Sequence[Run]) -> list[Machine]:
    """The machines of the runs of which something can be said."""
    return [machine for run in runs for machine in _machine(run)]


def _machine(run: Run) -> Iterator[Machine]:
    has_text = ATTACHMENT in run.store.attachments
    if not has_text and run.store.origin != "measured":
        return
    by_hand = _checks(run)
    if not has_text:
        if by_hand:
            yield Machine(run.entry, None, (), by_hand)
        return
    try:
        tree = tree_of_store(run.store)
    except InputError as error:
        yield Machine(run.entry, None, (), by_hand, str(error))
        return
    examination = examine(tree)
    shown = tuple(Shown(finding, _device(finding, tree), _cost(finding)) for finding in examination.findings)
    yield Machine(run.entry, examination, shown, by_hand)


def _checks(run: Run) -> tuple[Check, ...]:
    try:
        return tuple(checks(run.store, explain_run(run.store)))
    except InputError:
        # Without a link there are no bounds, and without bounds no symptoms.
        return ()


def _device(finding: Finding, tree: Tree) -> str:
    return "the machine" if finding.device is None else f"{short(finding.device)} {tree.title(finding.device)}"


def _cost(finding: Finding) -> str:
    if not finding.losses:
        return "" if finding.added_latency_ns is None else f"up to {finding.added_latency_ns:g} ns"
    first = finding.losses[0]
    return f"{first.operation} of {first.size_bytes} B: {first.now_gbps:.1f} of {first.could_gbps:.1f} Gb/s"
