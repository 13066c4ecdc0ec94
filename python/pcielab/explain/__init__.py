"""Why a run's bandwidths are what they are: which bound of the closed-form model binds each, and by how much.

    >>> from pcielab import open_store
    >>> from pcielab.explain import explain_run
    >>> for row in explain_run(open_store("run.db")).rows:
    ...     print(row.name, row.size_bytes, row.answer.bound, row.share)

Bounds are modelled, from the run's own link and, where the store has them, its own latencies and card. Values are
what the store says, measured or simulated.
"""

from pcielab.explain.bounds import RoundTrip
from pcielab.explain.facts import Facts
from pcielab.explain.rows import Explanation, Row, explain_run

__all__ = ["Explanation", "Facts", "RoundTrip", "Row", "explain_run"]
