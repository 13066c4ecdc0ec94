"""What commands, reports and conclusions ask of a kind of run, and the folder that answers: `room_of`.

The parts of a folder load at first use: a command waits only for what it needs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from pcielab.store.kinds import Columns, RunKind, columns_of, part_of

if TYPE_CHECKING:
    from pcielab.charts.frame import Figure
    from pcielab.charts.run import Run
    from pcielab.kinds.explained import ExplainedRun
    from pcielab.kinds.published.compare import Numbers
    from pcielab.kinds.published.values import Published
    from pcielab.kinds.question import Question
    from pcielab.store import Store

Row: TypeAlias = Mapping[str, Any]
"""A test or a pair by column: an unknown parameter is None, an unknown metric NaN."""
Cells: TypeAlias = dict[str, str | int | float | bool | None]
"""A row of a table that is printed."""


@dataclass(frozen=True)
class OfPaper:
    """How a paper's numbers are found in a run.

    Attributes:
        needs: Columns without which its tests are not a paper's.
        of: The run's numbers.
    """

    needs: Set[str]
    of: "Callable[[Store, Published], Numbers]"


@dataclass(frozen=True, kw_only=True)
class Explain:
    """The limits of the rows of a kind.

    Attributes:
        rows: The rows of the given tests, each with its limits.
        told: Parameters that tell the rows of two runs apart.
        has_link_bounds: Whether the given tests have bandwidths over a known PCIe link, for `explain_run`.
        simulated_again: Whether a run's system and tests suffice to simulate it again.
        questions: The rows among the given tests that `normal` judges; None if it judges none of the kind.
        gives_pins: Whether single numbers of a run determine keys of a host's profile.
        published: How a paper's numbers are found in it; None if no paper has any.
        flow_counts: Numbers of flows of the given tests: each flow's limits take an estimate of all of them.
    """

    rows: "Callable[[Store, Sequence[int]], ExplainedRun]"
    told: tuple[str, ...]
    has_link_bounds: "Callable[[Store, Sequence[int]], bool]" = lambda _store, _tests: False
    simulated_again: bool = False
    questions: "Callable[[Store, Set[int]], Iterable[Question]] | None" = None
    gives_pins: bool = False
    published: OfPaper | None = None
    flow_counts: "Callable[[Store, Sequence[int]], list[int]]" = lambda _store, _tests: []


def finished(store: "Store") -> list[dict[str, Any]]:
    """The finished tests of a run with their metrics."""
    return [test | store.metrics.get((test["id"], ""), {}) for test in store.test_rows() if test["status"] == "ok"]


@dataclass(frozen=True, kw_only=True)
class Compare:
    """How rows of two runs pair, and how a pair is shown.

    Attributes:
        rows: The finished rows of a run, with an `id` of their own, `test` if that is not its number, `status`,
            `name`, and their metrics.
        keys: Columns by which they pair: those of the first entry, then the rest by those of the next.
        shown: Further columns of a pair, where its rows have them.
        unsaid: Values that older stores and other origins leave out.
        sort: Tests like one with this name and parameters, in the plural, given whether its value is a latency.
        asked: The parameters in a line of a table.
        metric: The metric in a line of a table.
        line: The line of a pair, where it is not its parameters and one metric.
        optional: Columns of a line that are left out where every line lacks them.
        rate_unit: Unit of the rows' rate when two runs are explained, and its Gb/s.
        errors_ns: Standard errors of the differences of medians of the given tests, where both runs are measured.
        titled_by: Parameters of a test that its title needs beside those of its pair.
        machines: What differs between two runs, in words.
    """

    rows: "Callable[[Store], list[dict[str, Any]]]" = finished
    keys: tuple[Sequence[str], ...]
    shown: tuple[str, ...] = ()
    unsaid: Mapping[str, Any] = field(default_factory=dict)
    sort: Callable[[Row, bool], str]
    asked: Callable[[Row], Cells]
    metric: Callable[[Row], str]
    line: Callable[[Row], Cells] | None = None
    optional: tuple[str, ...] = ()
    rate_unit: tuple[str, float] = ("Gb/s", 1.0)
    errors_ns: "Callable[[Store, Store, Iterable[tuple[int, int]]], list[float]] | None" = None
    titled_by: tuple[str, ...] = ()
    machines: str = "systems"


@dataclass(frozen=True)
class Entry:
    """A figure that a report may have.

    Attributes:
        name: Name of its file and anchor.
        section: Heading above it.
        about: Caption, one or two sentences.
        draw: Draws it from the runs and the measured overlay.
    """

    name: str
    section: str
    about: str
    draw: "Callable[[Sequence[Run], Run | None], Figure]"


@dataclass(frozen=True)
class Figures:
    """The figures of a kind.

    Attributes:
        entries: Those that a report may have, in order.
        one: Those of which a notebook shows the first that has data.
        own: Further entries, for the runs of a report.
    """

    entries: tuple[Entry, ...]
    one: "tuple[Callable[[Store], Figure], ...]"
    own: "Callable[[Sequence[Run]], Sequence[Entry]]" = lambda _runs: ()


@dataclass(frozen=True)
class Events:
    """The times of a run as trace events.

    Attributes:
        of: Its events, and warnings on those that are left out.
        times: What the times are, in words.
    """

    of: "Callable[[Store], tuple[list[dict[str, Any]], list[str]]]"
    times: str


class Room:
    """The folder of a kind.

    Attributes:
        kind: The kind.
    """

    def __init__(self, kind: RunKind) -> None:
        self.kind = kind

    @property
    def columns(self) -> Columns:
        """What its rows hold."""
        return columns_of(self.kind)

    @cached_property
    def explain(self) -> Explain:
        """The limits of its rows."""
        return part_of(self.kind, Explain, "explain")

    @cached_property
    def compare(self) -> Compare:
        """How rows of two runs pair."""
        return part_of(self.kind, Compare, "compare")

    @cached_property
    def figures(self) -> Figures:
        """Its figures."""
        return part_of(self.kind, Figures, "figures")

    @cached_property
    def events(self) -> Events:
        """Its times as trace events."""
        return part_of(self.kind, Events, "events")


@cache
def room(kind: RunKind) -> Room:
    """The folder of a kind."""
    return Room(kind)


def room_of(store: "Store") -> Room:
    """The folder of a run's kind."""
    return room(store.kind)
