"""The numbers of a run of messages, by the selections of the published ones.

Stands alone: it needs pandas, which most questions about messages do not.
"""

import pandas as pd

from pcielab import model
from pcielab.kinds.published.compare import READINGS, RunNumbers
from pcielab.kinds.published.values import MessageSelection, Published, PublishedValue, Selection
from pcielab.library.message_profiles import recorded_messages
from pcielab.store import Store


class MessageNumbers(RunNumbers):
    """The numbers of a run of messages, by family, way, payload, metric and step."""

    def __init__(self, store: Store, _known: Published) -> None:
        tests = store.tests
        plain = tests["generation"].isna() & (tests["cores"] == 1) & (tests["pressure"] == 0)
        columns = ["id", "family", "way", "size_bytes"]
        self._rows = tests[plain][columns].merge(store.scalar_rows, left_on="id", right_on="test")
        self._store = store

    def of(self, wanted: Selection) -> pd.Series:
        """The metric over the swept value, in the order of the run; empty if not run."""
        rows = self._rows
        if not isinstance(wanted, MessageSelection):
            return pd.Series(dtype=float)
        chosen = (rows["family"] == wanted.family) & (rows["way"] == wanted.way)
        chosen &= (rows["size_bytes"] == wanted.size_bytes) & (rows["metric"] == wanted.metric)
        chosen &= rows["subject"] == wanted.step
        return rows[chosen].set_index("size_bytes")["value"]

    def estimated(self, one: PublishedValue) -> float:
        """The number of the estimator or the closed form; NaN if it has none."""
        wanted = one.modelled
        if wanted is None:
            return float("nan")
        profile = recorded_messages(self._store.manifest, str(self._store.path))
        answer = model.messages(profile, [wanted.size_bytes])[0]
        found = getattr(getattr(answer, wanted.way) if wanted.way else answer, wanted.metric)
        if found is None:
            return float("nan")
        return float(READINGS[one.read_as](pd.Series([float(found)]), pd.Series([1.0])).iloc[0])
