"""The papers' numbers: `values` reads them, `compare` judges ours, `readings` finds ours in the rows of a run."""

from pcielab.kinds.published.compare import compare, score
from pcielab.kinds.published.values import FlowSelection, Published, PublishedValue, published_values

__all__ = [
    "FlowSelection",
    "Published",
    "PublishedValue",
    "compare",
    "published_values",
    "score",
]
