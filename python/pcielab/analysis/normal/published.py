"""Predictions of published loads, stores and doorbells, by the profiles that processor, link and device name.

No value of a row enters its prediction: the row says which access it is, and the profiles say the rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from pcielab import model
from pcielab._core import read_width
from pcielab.library.cores import bar_for, core_for
from pcielab.library.published_accesses import PublishedAccess, published_accesses
from pcielab.library.usual_link import USUAL_MPS_BYTES, usual_mrrs_bytes

TOLERANCE = 0.15
"""A prediction holds if its usual value is this near, or if the value is inside the interval."""


@dataclass(frozen=True)
class Prediction:
    """A published access with its prediction.

    Attributes:
        row: The published figure.
        core: The core's profile.
        bar: The device's.
        least: The least that the profiles allow, in the unit of the row.
        usual: What their usual values give.
        most: The most.
        bound: What limits the rate of such accesses.
    """

    row: PublishedAccess
    core: str
    bar: str
    least: float
    usual: float
    most: float
    bound: str

    @property
    def error(self) -> float:
        """By how much the usual value is above the published one, as a share of that."""
        return self.usual / self.row.value - 1

    @property
    def is_inside(self) -> bool:
        """Whether the published value is inside the interval."""
        return self.least <= self.row.value <= self.most

    @property
    def spread(self) -> float:
        """The upper end of the interval over the lower."""
        return self.most / self.least

    @property
    def holds(self) -> bool:
        """Whether it is within 15 %, or inside."""
        return abs(self.error) <= TOLERANCE or self.is_inside


def predictions() -> list[Prediction]:
    """A prediction of every published access."""
    return list(_predicted(published_accesses()))


def median_spread(rows: list[Prediction]) -> float:
    """The median of the upper over the lower ends of intervals."""
    return median(row.spread for row in rows)


def _predicted(rows: list[PublishedAccess]) -> Iterator[Prediction]:
    for row in rows:
        width = read_width(row.question_link, "question_link")
        link = model.Link(
            generation=width.generation,
            lanes=width.lanes,
            mps_bytes=USUAL_MPS_BYTES,
            mrrs_bytes=usual_mrrs_bytes(USUAL_MPS_BYTES),
        )
        core, bar = core_for(row.cpu, width.generation), bar_for(row.device)
        access = model.Access(
            instruction=row.instruction,  # type: ignore[arg-type]
            size_bytes=row.access_bytes,
            width_bytes=row.width_bytes,
            cores=row.cores,
            remote=row.remote,
            fenced=row.fenced,
            first_touch=row.first_touch,
            window_set=row.window_set,
        )
        [times] = model.mmio(model.load_core(core), model.load_bar(bar), [access], link=link)
        took = times.core_ns
        scale = row.plain / row.value
        if row.is_time:
            ends = (took.least, took.usual, took.most)
        else:
            ends = (row.access_bytes / took.most, row.access_bytes / took.usual, row.access_bytes / took.least)
        least, usual, most = (end / scale for end in ends)
        yield Prediction(row, core, bar, least, usual, most, times.bound)
