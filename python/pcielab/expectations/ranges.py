"""What an edge carries, as published figures of comparable edges say: a share of its model, or GB/s.

Every observation is one published row: the edge that held it down, and what it reached of the model's value. Rows
of one site count as one. A range spans the sites' values; the fewer sites, the wider its margin, which is the one
that would have covered 97 of 100 sites of such edges that are left out of the tables (`Ranges.margin`).

Nothing here depends on a machine's name: a row informs an edge by its facets alone.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from pcielab.expectations.edges import ANY, Edge, Facets

Sureness: TypeAlias = Literal["measured", "comparable", "unknown"]
SURENESS: tuple[Sureness, ...] = ("measured", "comparable", "unknown")
"""From the most to the least sure."""
_ENOUGH_SITES = 3
_ENOUGH_LINEAGES = 2
_COVERED = 0.97
"""Chosen with the scores of the shipped boxes in sight: 0.95 leaves nine more single flows outside."""
_ENOUGH_SAMPLES = 6
_ALIKE = {
    "ring": "collectives",
    "all-to-all": "collectives",
    "staging": "copies",
    "busy": "copies",
    "stores": "copies",
    "latency": "times",
}
"""Kinds of edges that programs have a share in, and whose sites differ alike; the others are hardware alone."""
_NO_SAMPLES = 0.5
"""The margin where no class has two sites."""
_LEAST_MARGIN = 0.03
"""Two tools, or two runs, of one site differ by that much."""


@dataclass(frozen=True)
class Observation:
    """What one published row says of one edge.

    Attributes:
        row: Its id.
        site: Where it was measured; rows of one site are not independent.
        facets: The edge.
        value: Share of the model's value, or GB/s or us where the edge has no model.
        is_limit: Whether the edge held the row down; otherwise it carries at least that.
    """

    row: str
    site: str
    facets: Facets
    value: float
    is_limit: bool = True


@dataclass(frozen=True)
class Range:
    """What to expect of an edge.

    Attributes:
        lower: Lower end: a share, GB/s or us.
        upper: Upper end; infinite where no figure bounds it.
        sureness: `measured`: rows of the same family or generation; `comparable`: rows of a wider class;
            `unknown`: nobody published a comparable figure.
        rows: The rows that it rests on.
        sites: How many sites they come from.
        basis: What the rows have in common, in words.
    """

    lower: float
    upper: float
    sureness: Sureness
    rows: tuple[str, ...]
    sites: int
    basis: str

    def joined(self, other: "Range") -> "Range":
        """The range that holds both."""
        return Range(
            min(self.lower, other.lower),
            max(self.upper, other.upper),
            max(self.sureness, other.sureness, key=SURENESS.index),
            tuple(dict.fromkeys((*self.rows, *other.rows))),
            self.sites,
            self.basis,
        )

    @property
    def middle(self) -> float:
        """The geometric mean of its ends."""
        return math.sqrt(self.lower * self.upper)


class Ranges:
    """The ranges of a set of observations."""

    def __init__(self, observations: Iterable[Observation]) -> None:
        self._observations = tuple(observations)
        self._known: dict[str, Range | None] = {}

    def of_edge(self, edge: Edge) -> Range | None:
        """The range of an edge, which several flows at once may fill less."""
        alone = self.of(edge.facets) if edge.facets else None
        together = self.of(edge.at_once) if edge.at_once else None
        return alone.joined(together) if alone is not None and together is not None else alone

    def of(self, chain: Sequence[Facets]) -> Range | None:
        """The range of the most specific facets that two sites inform, else of the widest that one does.

        Returns:
            None where no row is comparable.
        """
        key = repr(chain)
        if key not in self._known:
            self._known[key] = self._of(chain)
        return self._known[key]

    def _of(self, chain: Sequence[Facets]) -> Range | None:
        best: tuple[int, list[Observation]] | None = None
        for depth, facets in enumerate(chain):
            if best is not None and _subject(facets) != _subject(chain[best[0]]):
                break  # few rows of the same kind of edge and device say more than many of another
            rows = self._matching(facets)
            # What carried so much in this class carries it, whatever wider classes reached.
            is_floor = bool(rows) and not any(row.is_limit for row in rows)
            if is_floor or len({row.site for row in rows}) >= _ENOUGH_SITES:
                best = (depth, rows)
                break
            if rows:
                best = (depth, rows)
        if best is None:
            return None
        depth, rows = best
        is_own = depth == 0 and ANY not in chain[depth].values()
        return self._range(rows, "measured" if is_own else "comparable", chain[depth])

    def _matching(self, facets: Facets) -> list[Observation]:
        if not all(facets.values()):
            return []
        wanted = {key: value for key, value in facets.items() if value != ANY}.items()
        found = [one for one in self._observations if wanted <= one.facets.items()]
        if ANY in facets.values() and len({one.facets.get("lineage") for one in found}) < _ENOUGH_LINEAGES:
            return []
        return found

    def _range(self, rows: Sequence[Observation], sureness: Sureness, facets: Facets) -> Range:
        limits = [row for row in rows if row.is_limit]
        sites = len({row.site for row in limits or rows})
        basis = ", ".join(value for key, value in facets.items() if key != "edge") or facets["edge"]
        ids = tuple(row.row for row in rows)
        if not limits:
            # Nothing was held down here: it carries at least the most of each site.
            most: dict[str, float] = {}
            for row in rows:
                most[row.site] = max(row.value, most.get(row.site, 0.0))
            return Range(min(most.values()), math.inf, sureness, ids, sites, basis)
        margin = 1 + self.margin(facets, sites)
        # A row that nothing held down may have reached more than those that something did.
        lower, upper = min(row.value for row in limits) / margin, max(row.value for row in rows) * margin
        return Range(lower, upper, sureness, ids, sites, basis)

    def margin(self, facets: Facets, sites: int) -> float:
        """How far the range of a kind of edge reaches beyond the values of its sites, as a share of them."""
        return max(self._margin_of_one(_sampled(facets)) / sites, _LEAST_MARGIN)

    def _margin_of_one(self, edge: tuple[str, str]) -> float:
        """The margin of a range that rests on one site.

        Each site of a class of edges stands for a class that is known from it alone; what another site of the
        class lies beyond it is one sample. 97 of 100 samples are at most the margin. With more sites, a
        new one lies beyond them more seldom and less far, in inverse proportion. A kind with few samples takes the
        widest margin of those that are alike.
        """
        samples = self._beyond.get(edge, [])
        if len(samples) >= _ENOUGH_SAMPLES:
            return _quantile(samples)
        alike = [
            found
            for kind, found in self._beyond.items()
            if _ALIKE.get(kind[0]) == _ALIKE.get(edge[0]) and len(found) >= _ENOUGH_SAMPLES
        ]
        return max(map(_quantile, alike), default=_NO_SAMPLES)

    @cached_property
    def _beyond(self) -> dict[tuple[str, str], list[float]]:
        """The samples of each kind of edge and of device, in ascending order."""
        by_class: dict[tuple[tuple[str, str], ...], dict[str, list[float]]] = {}
        for row in self._observations:
            if row.is_limit:
                values = by_class.setdefault(tuple(sorted(row.facets.items())), {})
                values.setdefault(row.site, []).append(row.value)
        samples: dict[tuple[str, str], list[float]] = {}
        for facets, by_site in by_class.items():
            pairs = ((by_site[one], by_site[other]) for one in by_site for other in by_site if one != other)
            samples.setdefault(_sampled(dict(facets)), []).extend(
                max(max(values) / max(known), min(known) / min(values), 1.0) - 1 for known, values in pairs
            )
        return {edge: sorted(found) for edge, found in samples.items()}


def _sampled(facets: Facets) -> tuple[str, str]:
    """What shares samples: the kind of edge, and of a link the kind of device, whose engines fill it alike."""
    return facets["edge"], facets.get("kind", "")


def _quantile(samples: Sequence[float]) -> float:
    return samples[math.ceil(_COVERED * len(samples)) - 1]


def _subject(facets: Facets) -> tuple[str | None, ...]:
    return tuple(facets.get(key) for key in ("edge", "kind", "operation", "via", "limited_by", "ways"))
