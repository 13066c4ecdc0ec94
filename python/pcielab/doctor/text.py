"""Findings and trees as text for people."""

import textwrap
from collections.abc import Iterable, Iterator

from pcielab.doctor.branches import Branch, branches
from pcielab.doctor.examine import Examination
from pcielab.doctor.finding import Finding, Loss, Severity
from pcielab.doctor.slots import short
from pcielab.doctor.tree import Tree

_LEAST_WIDTH, _MOST_WIDTH = 60, 110
_OPERATIONS = {"read": "reads", "write": "writes", "rdwr": "reads and writes together, each way,"}
_HEADS = {
    Severity.ERROR: "errors",
    Severity.WARNING: "warnings",
    Severity.NOTE: "notes: limits and properties, not faults",
}


def describe(examination: Examination, tree: Tree, width: int = _MOST_WIDTH, *, in_order: bool = False) -> str:
    """Every finding, worst first, with its evidence.

    Args:
        examination: The findings.
        tree: The machine.
        width: Letters of a line.
        in_order: Keep the order of the findings, and head each with its severity.
    """
    width = max(_LEAST_WIDTH, min(width, _MOST_WIDTH))
    lines = [
        f"{examination.source}: {examination.functions} functions, {examination.links} links, "
        f"{_counted(examination, tree)}"
    ]
    for finding in examination.findings if in_order else ():
        lines += ["", finding.severity.value, finding_text(finding, tree, width)]
    for severity in () if in_order else Severity:
        found = [finding for finding in examination.findings if finding.severity is severity]
        if found:
            lines += ["", _HEADS[severity]]
        for finding in found:
            lines += ["", finding_text(finding, tree, width)]
    return "\n".join(lines)


def finding_text(finding: Finding, tree: Tree, width: int = _MOST_WIDTH) -> str:
    """One finding of a tree, as `describe` writes it."""
    return "\n".join(_finding(finding, tree, width))


def draw(tree: Tree, examination: Examination) -> str:
    """The tree, one function per line, with the modelled rates of its link and the severities of its findings.

    Functions without a link or a finding are counted.
    """
    found = {branch.slot: _severities(examination, branch.slot) for branch in branches(tree)}
    shown = [
        branch
        for branch in branches(tree)
        if branch.depth or branch.is_port or branch.lanes is not None or found[branch.slot]
    ]
    rest = len(tree.functions) - len(shown)
    lines = [_line(branch) + found[branch.slot] for branch in shown]
    return "\n".join([*lines, *([f"{rest} more functions without a link"] if rest else []), ""])


def _counted(examination: Examination, tree: Tree) -> str:
    if examination.unseen and all(link.device.link is None for link in tree.links):
        return "no link can be judged: too many registers are hidden"
    if not examination.links:
        if examination.hypervisor:
            where = f"a virtual machine ({examination.hypervisor})"
            return f"no link can be judged in {where}: run the doctor on the host"
        return "no link can be judged: no device with a PCI Express link is shown"
    if not examination.findings:
        return "no findings in what could be read" if examination.unseen else "no findings"
    hidden = "; some registers could not be read" if examination.unseen else ""
    return _numbers(examination.findings) + hidden


def _numbers(findings: Iterable[Finding]) -> str:
    """How many findings of each severity: `1 error, 2 notes`."""
    found = [finding.severity for finding in findings]
    counts = ((found.count(severity), severity.value) for severity in Severity)
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count)


def _severities(examination: Examination, slot: str) -> str:
    """The severities of the findings on a function, as the end of its line."""
    numbers = _numbers(finding for finding in examination.findings if finding.device == slot)
    return f" | {numbers}" if numbers else ""


def _finding(finding: Finding, tree: Tree, width: int) -> Iterator[str]:
    head = "the machine" if finding.device is None else f"{short(finding.device)} {tree.title(finding.device)}"
    yield from _wrapped(head, width, "", "  ")
    yield from _item("", f"{finding.what} [{finding.sureness.value}; {finding.rule}, {finding.cause}]", width)
    if finding.values:
        shown = ", ".join(
            f"{short(value.function) + ' ' if value.function else ''}{value.name} {value.value}"
            for value in finding.values
        )
        yield from _item("evidence: ", shown, width)
    if finding.explained:
        yield from _item("explains: ", "; ".join(finding.explained), width)
    if finding.losses:
        yield from _item("cost, by the model: ", "; ".join(map(_loss, finding.losses)), width)
    if finding.added_latency_ns is not None:
        yield from _item("cost: ", f"up to {finding.added_latency_ns:g} ns more latency", width)
    if finding.severity is not Severity.NOTE:
        yield from _item("measured elsewhere: ", f"{finding.evidence} (grade {finding.grade})", width)
    yield from _item("fix: ", finding.remedy, width)
    if finding.confirm is not None and finding.severity is not Severity.NOTE:
        yield from _item("confirm: ", finding.confirm, width)
    commands = finding.commands or ((finding.command,) if finding.command is not None else ())
    if commands:
        words = "command" if len(commands) == 1 else "commands, in this order"
        yield f"  {words}, risky (it may hang the machine; lost at the next reset):"
        yield from (f"    {command}" for command in commands)


def _item(head: str, text: str, width: int) -> list[str]:
    return _wrapped(text, width, f"  {head}", "    ")


def _wrapped(text: str, width: int, head: str, indent: str) -> list[str]:
    """The lines of a text, broken at spaces only, so that slots and commands stay whole."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=head,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _loss(loss: Loss) -> str:
    now_gbps, could_gbps = loss.shown_gbps
    at = "" if loss.round_trip_ns is None else f" with a round trip of {loss.round_trip_ns:g} ns"
    then = "" if loss.could_bound == loss.now_bound else f", then {loss.could_bound}"
    assumed = f" ({loss.assumed})" if loss.assumed else ""
    return (
        f"{_OPERATIONS[loss.operation]} of {loss.size_bytes} B{at}: {now_gbps} instead of "
        f"{could_gbps} Gb/s ({loss.now_bound} binds{then}){assumed}"
    )


def _line(branch: Branch) -> str:
    words = ["  " * branch.depth + short(branch.slot), branch.title]
    if branch.lanes == 0:
        words.append("| empty")
    elif branch.made_up is not None:
        words.append("| link not judged")
    elif branch.lanes is not None and branch.speed_gtps is not None:
        words.append(f"| {branch.speed_gtps:g} GT/s x{branch.lanes}")
        words.append(f"| reads {branch.read_gbps:.1f}, writes {branch.write_gbps:.1f} Gb/s")
        words.append(f"({branch.read_bound}, {branch.write_bound})")
        if branch.below_gbps:
            words.append(f"| below it {branch.below_gbps:.0f} of {branch.raw_gbps:.0f} Gb/s raw")
    return " ".join(words)
