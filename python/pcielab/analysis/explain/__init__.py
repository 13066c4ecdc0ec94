"""Why a run's bandwidths are what they are: which bound of the closed-form model binds each, and by how much.

    >>> from pcielab import open_store
    >>> from pcielab.analysis.explain import explain_run
    >>> for row in explain_run(open_store("run.db")).rows:
    ...     print(row.name, row.size_bytes, row.answer.bound, row.share)

Bounds are modelled: from everything that the system profile of the run can limit or, for an import, which has
none, from the link and the run's own latencies. Values are what the store says, measured or simulated.
"""

from pcielab.analysis.explain.bounds import RoundTrip, TestBounds, bounds_of_tests
from pcielab.analysis.explain.facts import Facts, facts_of
from pcielab.analysis.explain.rows import Explanation, Row, explain_run
from pcielab.analysis.explain.sweeps import Sweep, sweeps_of
from pcielab.analysis.explain.words import in_words

__all__ = [
    "Explanation",
    "Facts",
    "RoundTrip",
    "Row",
    "Sweep",
    "TestBounds",
    "bounds_of_tests",
    "explain_run",
    "facts_of",
    "in_words",
    "sweeps_of",
]
