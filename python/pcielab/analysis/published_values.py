"""What a paper says in numbers, beside what a run of its experiments gives.

The numbers of a suite stand in the folder `published` beside it, each with the figure, table or section that it is
from and the rows of the suite that say the same. Nothing is left out because it does not fit: where the paper
contradicts itself, the contradiction is shown, and where the simulation is off, the mechanism that is missing. A
number that a profile was given is no prediction: it is shown as such, and not counted.
"""

from collections import Counter
from collections.abc import Callable
from typing import Literal, Protocol, Self, TypeAlias

import pandas as pd
from pydantic import Field, model_validator

from pcielab.library import shipped
from pcielab.library.message_profiles import recorded_messages
from pcielab.library.profiles.part import Part
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.validation import read_as
from pcielab.store import Store
from pcielab.store.flows import flow_table

MOST_ERROR_PERCENT = 5.0
"""How far a latency or a bandwidth may be off, in percent, before its deviation has to be explained."""
MOST_ERROR_POINTS = 3.0
"""The same for shares, in points of a percent."""
COLUMNS = ("source", "what", "unit", "published", "simulated", "error", "of", "estimated", "verdict", "reason")

ReadAs: TypeAlias = Literal["value", "percent", "rise", "difference", "ratio", "peak"]
Verdict: TypeAlias = Literal["within", "explained", "off", "input", "contradicted", "not simulated", "not run"]
PREDICTIONS: tuple[Verdict, ...] = ("within", "explained", "off")
"""The verdicts on what neither a profile was given nor the paper contradicts: they make the score."""


class FlowSelection(Part):
    """Rows of a run of a fabric: a metric of one flow of one experiment, at some values of its sweep."""

    family: str
    """The figure that the experiment belongs to."""
    series: str | None = None
    """Its line in that figure; absent where the figure has one."""
    flow: str
    """The flow."""
    metric: Literal["average", "p50", "p90", "p99", "bandwidth"]
    """What of it."""
    value: float | int | list[float | int] | None = None
    """Of the sweep; several are averaged, and absent means all."""


class MessageSelection(Part):
    """A row of a run of messages, on the link of its system and from one core."""

    family: str
    """The family of the test."""
    way: Literal["uncached", "write-combined", "descriptors"]
    """How the message goes."""
    size_bytes: int
    """Its payload."""
    metric: str
    """What of it, as in the store: `median`, `bandwidth`, `control_share`, or `at` of a step."""
    step: str = ""
    """The step."""


Selection: TypeAlias = FlowSelection | MessageSelection


class ModelSelection(Part):
    """What the closed forms say of a message, by the profile in the run's manifest and on its link."""

    size_bytes: int
    """Payload."""
    way: Literal["uncached", "write_combined", "descriptors"] | None = None
    """How it goes; absent for what all ways share."""
    metric: str
    """A number of `pcielab.model.messages`."""


class PublishedValue(Part):
    """A number of a paper, and where a run has its like."""

    source: str
    """Figure, table or section."""
    what: str
    """What it is of."""
    published: float
    """The number."""
    unit: Literal["ns", "GB/s", "Gb/s", "%", "B", "1"]
    """Its unit; 1 for a ratio or a count."""
    last_digit: float = Field(default=0.0, ge=0)
    """What a one in its last digit is worth: half of it is no deviation."""
    of: list[Selection] = Field(default=[])
    """What is compared with it; several are added up. Empty: nothing is simulated that says the same."""
    over: Selection | None = None
    """What that is set against."""
    read_as: ReadAs = "value"
    """How: `rise` in percent, `difference`, `ratio`, or `peak`, the value of the sweep at which the ratio is
    largest; without `over`, `percent` of 1."""
    estimate: float | None = None
    """The paper's own estimate of the flow that is compared, GB/s; ours is of the flows of the run's own test."""
    modelled: ModelSelection | None = None
    """What closed forms say of it."""
    at_least: bool = False
    """The paper says that it is more than the number."""
    at_most: bool = False
    """The paper says that it is less."""
    given: bool = False
    """Whether the profile, or the suite, has this number as its input, so that meeting it proves nothing."""
    contradiction: str | None = None
    """What of the paper it does not go together with: shown, and no target."""
    why: str | None = None
    """The name of the reason, among `reasons`, why the simulation is further off than it may be."""

    @model_validator(mode="after")
    def _estimates_are_of_one_flow(self) -> Self:
        if self.estimate is not None and not (len(self.of) == 1 and isinstance(self.of[0], FlowSelection)):
            raise ValueError(f"estimate is {self.estimate}: give one flow in `of`, the one that is estimated")
        return self

    @model_validator(mode="after")
    def _two_sides(self) -> Self:
        if (self.over is None) != (self.read_as in ("value", "percent")):
            raise ValueError(
                f"read_as is {self.read_as}: give `over` for rise, difference, ratio and peak, and only then"
            )
        return self


class Published(Part):
    """A file in a folder `published` beside suites."""

    suite: str
    """The suite whose runs are compared."""
    provenance: Provenance
    """The paper."""
    reasons: dict[str, str] = Field(default={})
    """Mechanisms that are missing, by name."""
    value: list[PublishedValue] = Field(min_length=1)
    """The numbers, in the order of the paper."""

    @model_validator(mode="after")
    def _reasons_are_known(self) -> Self:
        for one in self.value:
            if one.why is not None and one.why not in self.reasons:
                raise ValueError(f"{one.source}, {one.what}: why is {one.why!r}: give one of reasons")
        return self


def published_values(suite: str) -> Published | None:
    """What is published of a suite's experiments; None where nothing is known.

    Raises:
        InputError: There is a problem in the file.
    """
    for kind, folder in shipped.SUITE_FOLDERS.items():
        path = shipped.directory("suites") / folder / "published" / f"{suite}.toml"
        if suite in shipped.suite_files(kind) and path.is_file():
            return read_as(Published, path)
    return None


def compare_with_published(store: Store) -> pd.DataFrame | None:
    """Every published number beside what a run of the suite gives; None where nothing is published of it.

    The columns are `COLUMNS`. The error is in percent, for shares in points (`of` says which), and NaN where
    there is nothing to compare; `estimated` is what the max-min estimator says of flows, and closed forms of
    messages, in the unit of the row; it is compared where nothing is simulated that says the same. The verdict is
    `within`, `explained` (the reason names the missing mechanism), `off`, `input` (a profile was given the number,
    and gives it back), `contradicted` (by what of the paper, the reason says), `not simulated`, or `not run`.
    """
    known = published_values(str(store.manifest.get("suite")))
    needed = {"series", "value"} if store.kind == "fabric" else {"way", "size_bytes", "generation", "cores"}
    if known is None or not needed <= set(store.tests.columns):
        return None
    found: _Numbers = _FlowNumbers(store) if store.kind == "fabric" else _MessageNumbers(store)
    rows = [_row(one, known, found) for one in known.value]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def score(compared: pd.DataFrame) -> str:
    """How many predictions are met, in a sentence; what is no prediction is counted apart.

    Args:
        compared: What `compare_with_published` says.
    """
    counted = Counter(compared["verdict"])
    predictions = sum(counted[verdict] for verdict in PREDICTIONS)
    told = [f"{counted['within']} of {predictions} predictions are met"]
    told += [f"{counted[verdict]} {words}" for verdict, words in _APART.items() if counted[verdict]]
    return f"Of {len(compared)} numbers: {'; '.join(told)}."


_APART: dict[Verdict, str] = {
    "explained": "are missed, with the reason",
    "off": "are missed, without a reason",
    "input": "are inputs of the profile or the suite",
    "contradicted": "are contradicted by the paper itself",
    "not simulated": "are not simulated",
    "not run": "are not in this run",
}


def deviations(store: Store, family: str) -> list[str]:
    """Sentences about the published numbers of a family that a run does not meet: how many, how far off, and why.

    Args:
        store: The run.
        family: Of its tests.
    """
    known, compared = published_values(str(store.manifest.get("suite"))), compare_with_published(store)
    if known is None or compared is None:
        return []
    of_family = [any(selection.family == family for selection in one.of) for one in known.value]
    rows = compared[of_family]
    missed = rows[rows["verdict"].isin(["explained", "contradicted", "off"])].dropna(subset=["error"])
    return [
        f"{len(off)} of {len(rows)} published numbers missed, {_at_most(off)} off: "
        f"{reason if isinstance(reason, str) else 'no reason is known'}."
        for reason, off in missed.groupby("reason", sort=False, dropna=False)
    ]


def _at_most(rows: pd.DataFrame) -> str:
    """The largest error of each unit."""
    largest = rows.assign(size=rows["error"].abs()).groupby("of", sort=False)["size"].max()
    upto = "up to " if len(rows) > 1 else ""
    return " and ".join(f"{upto}{error:.1f} {unit}" for unit, error in largest.items())


class _Numbers(Protocol):
    """The numbers of a run, as they are selected."""

    def of(self, wanted: Selection) -> pd.Series:
        """The metric, by what was varied, in the order of the run; empty where it was not run."""

    def estimated(self, one: PublishedValue) -> float:
        """What was not simulated but worked out; NaN where nothing is."""


class _FlowNumbers:
    """The numbers of a run of a fabric, by experiment, value of the sweep, flow and metric."""

    def __init__(self, store: Store) -> None:
        scalars = store.scalar_rows
        flows = scalars[scalars["subject"].str.startswith("flow ")]
        tests = store.tests[["id", "family", "series", "value"]]
        self._rows = tests.merge(flows, left_on="id", right_on="test", suffixes=("_swept", ""))
        self._rows["flow"] = self._rows["subject"].str.removeprefix("flow ")
        self._store = store
        self._asked = flow_table(store)
        self._estimates: dict[int, dict[str, float]] = {}

    def of(self, wanted: Selection) -> pd.Series:
        rows = self._rows
        if not isinstance(wanted, FlowSelection):
            return pd.Series(dtype=float)
        chosen = (rows["family"] == wanted.family) & (rows["flow"] == wanted.flow)
        chosen &= rows["metric"] == wanted.metric
        if wanted.series is not None:
            chosen &= rows["series"] == wanted.series
        if wanted.value is not None:
            values = wanted.value if isinstance(wanted.value, list) else [wanted.value]
            chosen &= rows["value_swept"].isin(values)
        return rows[chosen].set_index("value_swept")["value"]

    def estimated(self, one: PublishedValue) -> float:
        if one.estimate is None or not isinstance(one.of[0], FlowSelection):
            return float("nan")
        wanted, asked = one.of[0], self._asked
        tests = asked["id"][(asked["family"] == wanted.family) & (asked["experiment"] == wanted.series)]
        if tests.empty:
            return float("nan")
        return self._estimated(int(tests.iloc[0])).get(wanted.flow, float("nan"))

    def _estimated(self, test: int) -> dict[str, float]:
        """What the flows of a test get by the estimator, on the fabric of the manifest."""
        from pcielab.fabric.estimate import estimate
        from pcielab.library.fabrics.load import check_ends, recorded

        if test not in self._estimates:
            where = str(self._store.path)
            fabric = recorded(self._store.manifest, where)
            flows = self._asked[self._asked["id"] == test].rename(columns={"flow": "name"})
            flows = flows.reindex(columns=["name", "source", "destination", "standalone_gbytes_per_s"])
            shares = estimate(fabric, check_ends(fabric, flows, f"{where}: test {test}")).flows
            self._estimates[test] = dict(zip(shares["flow"], shares["gbytes_per_s"], strict=True))
        return self._estimates[test]


class _MessageNumbers:
    """The numbers of a run of messages, by family, way, payload, metric and step."""

    def __init__(self, store: Store) -> None:
        tests = store.tests
        plain = tests["generation"].isna() & (tests["cores"] == 1) & (tests["pressure"] == 0)
        columns = ["id", "family", "way", "size_bytes"]
        self._rows = tests[plain][columns].merge(store.scalar_rows, left_on="id", right_on="test")
        self._store = store

    def of(self, wanted: Selection) -> pd.Series:
        rows = self._rows
        if not isinstance(wanted, MessageSelection):
            return pd.Series(dtype=float)
        chosen = (rows["family"] == wanted.family) & (rows["way"] == wanted.way)
        chosen &= (rows["size_bytes"] == wanted.size_bytes) & (rows["metric"] == wanted.metric)
        chosen &= rows["subject"] == wanted.step
        return rows[chosen].set_index("size_bytes")["value"]

    def estimated(self, one: PublishedValue) -> float:
        wanted = one.modelled
        if wanted is None:
            return float("nan")
        from pcielab import model

        profile = recorded_messages(self._store.manifest, str(self._store.path))
        answer = model.messages(profile, [wanted.size_bytes])[0]
        found = getattr(getattr(answer, wanted.way) if wanted.way else answer, wanted.metric)
        return float(_READINGS[one.read_as](pd.Series([float(found)]), pd.Series([1.0])).iloc[0])


_READINGS: dict[ReadAs, Callable[[pd.Series, pd.Series], pd.Series]] = {
    "value": lambda of, _: of,
    "percent": lambda of, _: of * 100,
    "rise": lambda of, over: (of / over - 1) * 100,
    "difference": lambda of, over: of - over,
    "ratio": lambda of, over: of / over,
    "peak": lambda of, over: pd.Series([float(str((of / over).idxmax()))]),
}


def _simulated(one: PublishedValue, found: _Numbers) -> float:
    parts = [found.of(selection) for selection in one.of]
    if not parts or any(part.empty for part in parts):
        return float("nan")
    whole = sum(part.to_numpy() for part in parts)
    of = pd.Series(whole, index=parts[0].index)
    if one.over is None:
        return float(_READINGS[one.read_as](of, of).mean())
    over = found.of(one.over)
    if over.empty:
        return float("nan")
    base = pd.Series(over.to_numpy() if len(over) == len(of) else over.mean(), index=of.index)
    return float(_READINGS[one.read_as](of, base).mean())


def _row(one: PublishedValue, known: Published, found: _Numbers) -> dict[str, object]:
    simulated, estimated = _simulated(one, found), found.estimated(one)
    share = one.unit == "%"
    ours = simulated if one.of else estimated
    error = ours - one.published if share else (ours / one.published - 1) * 100
    if one.at_least:
        error = min(error, 0.0)
    if one.at_most:
        error = max(error, 0.0)
    verdict = _verdict(one, simulated, error)
    why = known.reasons.get(one.why or "")
    reasons: dict[Verdict, str | None] = {
        "contradicted": one.contradiction,
        "explained": why,
        "not simulated": why,
    }
    return {
        "source": one.source,
        "what": one.what,
        "unit": one.unit,
        "published": one.published,
        "simulated": simulated,
        "error": error,
        "of": "points" if share else "%",
        "estimated": estimated,
        "verdict": verdict,
        "reason": reasons.get(verdict),
    }


def _verdict(one: PublishedValue, simulated: float, error: float) -> Verdict:
    if not one.of and one.modelled is None:
        return "not simulated"
    if one.contradiction is not None:
        return "contradicted"
    if one.of and simulated != simulated:
        return "not run"
    rounding = one.last_digit / 2 * (1 if one.unit == "%" else 100 / abs(one.published))
    most = MOST_ERROR_POINTS if one.unit == "%" else MOST_ERROR_PERCENT
    if abs(error) <= most + rounding:
        return "input" if one.given else "within"
    return "off" if one.why is None else "explained"
