"""The papers' numbers beside ours: `values` reads them, `compare` judges, `runs` finds ours in a store."""

from pcielab.analysis.published.compare import compare, score
from pcielab.analysis.published.runs import compare_with_published, deviations
from pcielab.analysis.published.values import FlowSelection, Published, PublishedValue, published_values

__all__ = [
    "FlowSelection",
    "Published",
    "PublishedValue",
    "compare",
    "compare_with_published",
    "deviations",
    "published_values",
    "score",
]
