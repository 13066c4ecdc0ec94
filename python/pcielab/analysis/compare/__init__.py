"""Two runs side by side: their tests paired, and the differences.

from pcielab import open_store
from pcielab.analysis.compare import compare

comparison = compare(open_store("measured.db"), open_store("simulated.db"))
comparison.summary
"""

from pcielab.analysis.compare.gate import Failure, failures, parse_limit
from pcielab.analysis.compare.pairs import Comparison, compare
from pcielab.analysis.compare.systems import Difference, differences

__all__ = ["Comparison", "Difference", "Failure", "compare", "differences", "failures", "parse_limit"]
