"""The machines behind a report's runs: the doctor's findings, and causes to check by hand.

Only for runs with a text of lspci and for measured runs: a simulated machine has nothing to examine.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pcielab.analysis.explain import explain_run
from pcielab.charts.run import Run
from pcielab.doctor import Examination, Finding, Tree, examine
from pcielab.doctor.stores import ATTACHMENT, tree_of_store
from pcielab.doctor.tree import short
from pcielab.errors import InputError
from pcielab.kinds.transfers.checks import Check, checks


@dataclass(frozen=True)
class Shown:
    """A finding as the report shows it.

    Attributes:
        finding: The finding.
        device: Slot and title of its function; `the machine` if it has none.
        cost: Modelled cost in words; empty if unknown.
    """

    finding: Finding
    device: str
    cost: str


@dataclass(frozen=True)
class Machine:
    """One run's machine.

    Attributes:
        entry: The run's name in legends.
        examination: Examination of its text of lspci; None without one.
        findings: The doctor's findings, worst first.
        checks: Causes to check by hand.
        problem: Error in reading the text, or None.
    """

    entry: str
    examination: Examination | None
    findings: tuple[Shown, ...]
    checks: tuple[Check, ...]
    problem: str | None = None


def machines(runs: Sequence[Run]) -> list[Machine]:
    """The machines that have findings or checks."""
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
    now_gbps, could_gbps = first.shown_gbps
    return f"{first.operation} of {first.size_bytes} B: {now_gbps} of {could_gbps} Gb/s"
