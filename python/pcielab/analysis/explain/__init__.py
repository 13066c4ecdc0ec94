"""Explain a run's bandwidths: the bound of the closed-form model that limits each, and the share of it reached.

    >>> from pcielab import open_store
    >>> from pcielab.analysis.explain import explain_run
    >>> for row in explain_run(open_store("run.db")).rows:
    ...     print(row.name, row.size_bytes, row.answer.bound, row.share)

Bounds are modelled: from the run's system profile or, for an import without one, from the link and the run's own
latencies. Values are the store's, measured or simulated.
"""

from pcielab.analysis.explain.run import explain_rows
from pcielab.kinds.explained import Explained, ExplainedRun, Limit
from pcielab.kinds.machine_facts import MachineFacts, facts_of
from pcielab.kinds.transfers.bounds import RoundTrip, TestBounds, bounds_of_tests
from pcielab.kinds.transfers.effects import Effect, effects_of
from pcielab.kinds.transfers.explain import Explanation, Row, explain_run
from pcielab.kinds.transfers.sweeps import Sweep, sweeps_of
from pcielab.kinds.transfers.words import in_words

__all__ = [
    "Effect",
    "Explained",
    "ExplainedRun",
    "Explanation",
    "Limit",
    "MachineFacts",
    "RoundTrip",
    "Row",
    "Sweep",
    "TestBounds",
    "bounds_of_tests",
    "effects_of",
    "explain_rows",
    "explain_run",
    "facts_of",
    "in_words",
    "sweeps_of",
]
