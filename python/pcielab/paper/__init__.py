"""The pcie-bench paper (Neugebauer et al., SIGCOMM 2018) as commands: its figures, findings and numbers.

Each figure is made on the machines that the paper made it on, from the few tests that it needs.
"""

from pcielab.paper.figures import FIGURES, PaperFigure, make_figure
from pcielab.paper.findings import Finding, findings
from pcielab.paper.numbers import MACHINES, Compared, Number, compare, numbers, score

__all__ = [
    "FIGURES",
    "MACHINES",
    "Compared",
    "Finding",
    "Number",
    "PaperFigure",
    "compare",
    "findings",
    "make_figure",
    "numbers",
    "score",
]
