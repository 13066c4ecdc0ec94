"""The explained rows of a run of any kind: a value, the limit that binds it, and the other limits."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pcielab.errors import refusal

if TYPE_CHECKING:
    from pcielab.store import Store

Unit: TypeAlias = Literal["Gb/s", "GB/s", "ns"]
MARKED_BELOW = 0.95
"""Share of the binding bound below which a row lists possible causes."""
NO_KNOWN_CAUSE = "no known cause"
"""The only entry of a row's possible causes where none is known."""


@dataclass(frozen=True)
class Limit:
    """A limit by itself.

    Attributes:
        name: Its name: a bound of the model, `line`, `in-flight`, or an edge of a fabric.
        value: The rate that it allows or, for a latency, the time that it takes at least; in the row's unit.
    """

    name: str
    value: float


@dataclass(frozen=True, kw_only=True)
class Explained:
    """A finished test, or a flow of one, with its limits.

    Attributes:
        test: The test's `id`.
        family: Its family.
        name: Its published name.
        asked: The parameters that distinguish it, by name with unit.
        value: Its rate in one direction, or its median latency.
        unit: `Gb/s` or `GB/s` for a rate, `ns` for a latency.
        limits: Its known limits, the binding one first; empty if none is known.
        parts: Numbers behind the limits, by name with unit.
        reasons: What the rest of the value may come from.
    """

    test: int
    family: str
    name: str
    asked: Mapping[str, Any]
    value: float
    unit: Unit
    limits: tuple[Limit, ...] = ()
    parts: Mapping[str, float | str | None] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()

    @property
    def is_latency(self) -> bool:
        """Whether the value is a time, which its limit keeps from being shorter."""
        return self.unit == "ns"

    @property
    def share(self) -> float | None:
        """The value as a share of its binding limit: at most about 1 of a rate, at least about 1 of a latency."""
        return self.value / self.limits[0].value if self.limits and self.limits[0].value else None


@dataclass(frozen=True)
class ExplainedRun:
    """The explained rows of a run.

    Attributes:
        rows: The rows, in suite order.
        about: The machine that the limits are of, in a few words.
        notes: Sentences on what was left out.
    """

    rows: list[Explained]
    about: str
    notes: list[str]


def check_has(row: Mapping[Any, Any], keys: Iterable[str], path: Path) -> None:
    """Refuse a test of a store that lacks one of `keys`; `row` has its `id`, parameters or numbers."""
    for key in keys:
        value = row.get(key)
        if value is None or value != value:
            raise refusal("missing", f"{path}: test {row['id']}: has no `{key}`: run it again with this version")


def matching(store: "Store", tests: Sequence[str]) -> list[int]:
    """The numbers of the tests that texts of `--test` mean, in suite order; all without a text.

    Raises:
        InputError: A text matches no test.
    """
    named = [*store.test_rows()]
    matched: set[int] = set()
    for wanted in tests:
        found = {test["id"] for test in named if is_meant(wanted, test)}
        if not found:
            raise refusal(
                "not-found",
                f"--test {wanted}: matches no test of {store.path}: give a number (0 to {len(named) - 1}), or "
                "part of a family or name, like bw_dma_sz or BW_DMA_RD",
            )
        matched |= found
    return [test["id"] for test in named if not tests or test["id"] in matched]


def without_result(store: "Store", tests: Sequence[int]) -> Iterator[str]:
    """A sentence for each status of tests without a result."""
    chosen = {*tests}
    statuses = Counter(test["status"] for test in store.test_rows() if test["id"] in chosen)
    del statuses["ok"]
    for status, count in sorted(statuses.items()):
        yield f"{counted_tests(count)} without a result left out ({status})"


def is_meant(wanted: str, record: Mapping[Any, Any]) -> bool:
    """Whether a text of `--test` is the number of a test, or part of its family or name."""
    if wanted.isdecimal():
        return bool(str(record["id"]) == wanted)
    return wanted.lower() in f"{record['family']} {record['name']}".lower()


def counted_tests(count: int) -> str:
    """A number of tests, in words."""
    return f"{count} test{'' if count == 1 else 's'}"
