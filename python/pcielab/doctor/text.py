"""Findings and trees as text for people."""

from pcielab import _core
from pcielab.doctor.examine import Examination
from pcielab.doctor.finding import Finding
from pcielab.doctor.tree import Tree

_MOST_WIDTH = 110


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
