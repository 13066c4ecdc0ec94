"""A run of a paper's experiments beside the paper's numbers."""

import pandas as pd

from pcielab.kinds.published.compare import compare, missed
from pcielab.kinds.published.values import published_values
from pcielab.kinds.rooms import room_of
from pcielab.store import Store


def compare_with_published(store: Store) -> pd.DataFrame | None:
    """Every published number beside the run's; None if no numbers of its suite are published.

    Returns:
        As `pcielab.kinds.published.compare.compare`.
    """
    known = published_values(str(store.manifest.get("suite")))
    numbers = room_of(store).explain.published
    if known is None or numbers is None or not numbers.needs <= set(store.tests.columns):
        return None
    return compare(known, numbers.of(store, known))


def deviations(store: Store, family: str) -> list[str]:
    """Sentences on the published numbers of a family that a run misses: how many, by how much, and why."""
    known, compared = published_values(str(store.manifest.get("suite"))), compare_with_published(store)
    if known is None or compared is None:
        return []
    return missed(compared[[any(selection.family == family for selection in one.of) for one in known.value]])
