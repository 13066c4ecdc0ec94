"""How a published number is read from a run: the base of the numbers of each kind of run."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import pandas as pd

from pcielab.kinds.published.values import PublishedValue, ReadAs, Selection

READINGS: dict[ReadAs, Callable[[pd.Series, pd.Series], pd.Series]] = {
    "value": lambda of, _: of,
    "percent": lambda of, _: of * 100,
    "rise": lambda of, over: (of / over - 1) * 100,
    "difference": lambda of, over: of - over,
    "ratio": lambda of, over: of / over,
    "peak": lambda of, over: pd.Series([float(str((of / over).idxmax()))]),
}


class RunNumbers(ABC):
    """Numbers of a run."""

    @abstractmethod
    def of(self, wanted: Selection) -> pd.Series:
        """The metric over the swept value, in the order of the run; empty if not run."""

    def simulated(self, one: PublishedValue) -> float:
        """The sum of the selected rows, against their base, as the number is read."""
        parts = [self.of(selection) for selection in one.of]
        if not parts or any(part.empty for part in parts):
            return float("nan")
        whole = sum(part.to_numpy() for part in parts)
        of = pd.Series(whole, index=parts[0].index)
        if one.over is None:
            return float(READINGS[one.read_as](of, of).mean())
        over = self.of(one.over)
        if over.empty:
            return float("nan")
        base = pd.Series(over.to_numpy() if len(over) == len(of) else over.mean(), index=of.index)
        return float(READINGS[one.read_as](of, base).mean())
