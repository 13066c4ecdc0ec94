"""Numbers of papers, with the rows of a run or the measure to compare each with.

The numbers are in `suites/**/published`, each with its source. None is left out because it does not fit:
contradictions within a paper are shown, and so is the missing mechanism where the simulation is off. A number
that is an input of a profile is shown, but not counted.

Python alone reads them, by pydantic.
"""

from typing import Any, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from pcielab.library import shipped
from pcielab.library.profiles.part import Part
from pcielab.library.validation import read_as

ReadAs: TypeAlias = Literal["value", "percent", "rise", "difference", "ratio", "peak"]


class FlowSelection(Part):
    """Rows of a run of flows: a metric of one flow of one experiment, at some values of its sweep."""

    family: str
    """The figure that the experiment belongs to."""
    series: str | None = None
    """Its line in that figure; absent where the figure has one."""
    flow: str
    """The flow."""
    metric: Literal["average", "p50", "p90", "p99", "bandwidth"]
    """The metric."""
    value: float | int | list[float | int] | None = None
    """Values of the sweep; several are averaged, None means all."""


class MessageSelection(Part):
    """A row of a run of messages, on the link of its system and from one core."""

    family: str
    """The family of the test."""
    way: Literal["uncached", "write-combined", "descriptors"]
    """How the message goes."""
    size_bytes: int
    """Its payload."""
    metric: str
    """Metric, as in the store: `median`, `bandwidth`, `control_share`, or `at` of a step."""
    step: str = ""
    """The step."""


Selection: TypeAlias = FlowSelection | MessageSelection


class ModelSelection(Part):
    """A number of the closed forms for a message, by the profile and link in the run's manifest."""

    size_bytes: int
    """Payload."""
    way: Literal["uncached", "write_combined", "descriptors"] | None = None
    """How it goes; None for numbers that all ways share."""
    metric: str
    """A number of `pcielab.model.messages`."""


class PublishedValue(Part):
    """A number of a paper, and the rows of a run or the measure to compare with it."""

    source: str
    """Figure, table or section."""
    what: str
    """Description."""
    published: float
    """The number, or the lower end of a range."""
    up_to: float | None = None
    """The upper end of a range."""
    unit: Literal["ns", "GB/s", "Gb/s", "M/s", "%", "B", "MiB", "1"]
    """Its unit; 1 for a ratio or a count."""
    allowed: float | None = Field(default=None, ge=0)
    """Largest error, in the unit, that needs no explanation; None: 5 %, of shares 3 points, of bounds nothing."""
    last_digit: float = Field(default=0.0, ge=0)
    """One unit of its last digit: half of it is no deviation."""
    of: list[Selection] = Field(default=[])
    """Rows compared with it, added up; empty if nothing comparable is simulated."""
    ours: dict[str, Any] | None = None
    """A measure of `pcielab.paper.measures` with its arguments, in place of `of`."""
    over: Selection | None = None
    """Base of rise, difference, ratio and peak."""
    read_as: ReadAs = "value"
    """`rise` in percent, `difference`, `ratio`, or `peak`, the value of the sweep at which the ratio is largest;
    without `over`, `value`, or `percent` of 1."""
    estimate: float | None = None
    """The paper's estimate for the flow, GB/s; ours is for the flows of the run's test."""
    modelled: ModelSelection | None = None
    """The closed forms' number."""
    parameter: str | None = None
    """A parameter of the fabric of the run, as `nodes.M.delay_ns`."""
    less: str | None = None
    """A parameter that is subtracted from it."""
    estimates_of: str | None = None
    """A series with estimates: the mean error of ours over its flows, relative to the paper's measurements."""
    at_least: bool = False
    """The paper gives a lower bound, which ours meets or not: without allowance."""
    at_most: bool = False
    """The paper gives an upper bound, which ours meets or not: without allowance."""
    given: bool = False
    """The number is an input of the profile or the suite, so meeting it proves nothing."""
    contradiction: str | None = None
    """The part of the paper that contradicts it: then it is shown, but no target."""
    why: str | None = None
    """Explanation of a larger error, or its key in `reasons`."""

    @model_validator(mode="after")
    def _estimates_are_of_one_flow(self) -> Self:
        if self.estimate is not None and not (len(self.of) == 1 and isinstance(self.of[0], FlowSelection)):
            raise ValueError(f"estimate is {self.estimate}: give one flow in `of`, the one that is estimated")
        return self

    @property
    def is_bound(self) -> bool:
        """Whether ours meets it or not, without an error between."""
        return self.at_least or self.at_most

    @property
    def is_computed(self) -> bool:
        """Whether anything is compared with it."""
        computed = (self.modelled, self.ours, self.parameter, self.estimates_of)
        return bool(self.of) or any(one is not None for one in computed)

    @model_validator(mode="after")
    def _bounds_have_no_allowance(self) -> Self:
        if self.is_bound and self.allowed is not None:
            raise ValueError(f"allowed is {self.allowed}: leave it out: at_least and at_most are met or not")
        return self

    @model_validator(mode="after")
    def _two_sides(self) -> Self:
        if (self.over is None) != (self.read_as in ("value", "percent")):
            raise ValueError(
                f"read_as is {self.read_as}: give `over` for rise, difference, ratio and peak, and only then"
            )
        return self


class Paper(Part):
    """A paper that numbers were taken from."""

    source: str = Field(min_length=1)
    """Authors, title, place and year."""
    notes: str = ""
    """Further notes."""


class Published(Part):
    """A file in a folder `published` beside suites."""

    suite: str | None = None
    """The suite whose runs are compared; None for numbers with measures."""
    provenance: Paper
    """The paper."""
    reasons: dict[str, str] = Field(default={})
    """Mechanisms that are missing, by name."""
    value: list[PublishedValue] = Field(min_length=1)
    """The numbers, in the order of the paper."""

    @model_validator(mode="after")
    def _reasons_are_known(self) -> Self:
        for one in self.value:
            if one.why is not None and " " not in one.why and one.why not in self.reasons:
                raise ValueError(f"{one.source}, {one.what}: why is {one.why!r}: give one of reasons")
        return self

    def reason(self, one: PublishedValue) -> str | None:
        """The explanation of a larger error of one of the numbers."""
        return None if one.why is None else self.reasons.get(one.why, one.why)


def published_values(suite: str) -> Published | None:
    """The published numbers of a suite's experiments; None if there are none.

    Raises:
        InputError: There is a problem in the file.
    """
    for kind, folder in shipped.SUITE_FOLDERS.items():
        path = shipped.directory("suites") / folder / "published" / f"{suite}.toml"
        if suite in shipped.suite_files(kind) and path.is_file():
            return read_as(Published, path)
    return None
