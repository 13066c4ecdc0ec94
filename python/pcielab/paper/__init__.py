"""The pcie-bench paper (Neugebauer et al., SIGCOMM 2018) as commands: its figures, and its table of findings.

Each figure is made on the machines that the paper made it on, from the few tests that it needs.
"""

from pcielab.paper.figures import FIGURES, PaperFigure, make_figure
from pcielab.paper.findings import Finding, findings

__all__ = ["FIGURES", "Finding", "PaperFigure", "findings", "make_figure"]
