"""The pcie-bench paper (Neugebauer et al., SIGCOMM 2018) as commands: its figures, claims and numbers.

Each figure is made on simulated models of the paper's machines, from the few tests that it needs.
"""

from pcielab.paper.claims import Claim, claims
from pcielab.paper.figures import FIGURES, PaperFigure, make_figure
from pcielab.paper.numbers import MACHINES, compare_numbers, numbers, sections, systems

__all__ = [
    "FIGURES",
    "MACHINES",
    "Claim",
    "PaperFigure",
    "claims",
    "compare_numbers",
    "make_figure",
    "numbers",
    "sections",
    "systems",
]
