"""Read a store as data frames, for notebooks and for all output of pcielab.

`docs/reference/store.md` documents the file. The compiled half writes it, and reads it whole and checked against
its digests; this module makes frames of it. pandas is loaded with the first frame, which many commands never need.
"""

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pcielab import _core
from pcielab.errors import InputError, refusal, with_message
from pcielab.library.alike import either
from pcielab.library.input_files import is_folder, is_there
from pcielab.library.lookup import files_alike
from pcielab.store.exercised import NOTICE
from pcielab.store.kinds import RunKind
from pcielab.store.manifest import check_manifest, recorded_system, system_of
from pcielab.store.shape import MANIFEST, check_parameters, check_shape

if TYPE_CHECKING:
    import pandas as pd

    from pcielab.library.profiles.parts import System

METRICS = (
    "time",
    "bytes",
    "transactions",
    "bandwidth",
    "bandwidth_low",
    "bandwidth_high",
    "rate",
    "average_total",
    "average",
    "median",
    "minimum",
    "maximum",
    "p95",
    "p99",
    "p999",
    "outliers",
    "samples",
)
"""The metrics of the published suite, in display order; others follow in alphabetical order."""
TRACE_COLUMNS = (
    *("kind", "lane", "name", "start_ps", "end_ps"),
    *("request", "tag", "address", "bytes", "value"),
)
"""The columns of a trace, in their order in the store."""
_Test: TypeAlias = tuple[int, str, str, str, str, str | None]
"""Id, family, name, parameters as JSON, status, message."""
_KEPT_LETTERS = 1 << 20
"""Most letters of the parameters of all tests that are kept."""


class Frames:
    """The run of a store: its manifest, its tests, and their numbers.

    Frames are read once, on first use, and shared: copy one before changing it.

    Attributes:
        path: The store's path.
        manifest: The suite, system and options of the run, in the order in which they were written.
    """

    def __init__(self, path: Path, contents: _core.StoreContents | None = None) -> None:
        """Read and check the manifest, or take the contents of a store that this process has written."""
        self.path = path
        self._few_tests: tuple[_Test, ...] | None = None
        if contents is not None:
            self._contents = contents
        text = _manifest_text(path) if contents is None else contents.manifest
        self.manifest: dict[str, Any] = json.loads(text)
        if contents is None:
            check_shape(self.manifest, MANIFEST, path, "manifest")
            check_manifest(self.manifest, path)
        self._system = recorded_system(self.manifest, path)

    def __repr__(self) -> str:
        return f"<Store {self.path}: {self.title}, {self.origin}, {self.extent}>"

    @property
    def origin(self) -> str:
        """Origin of the numbers: measured, simulated, emulated, rtl or modelled."""
        return str(self.manifest.get("origin", "unknown"))

    @property
    def tells_speed(self) -> bool:
        """Whether its times and bandwidths mean something; those of an emulator do not."""
        return self.origin != "emulated"

    def require_speed(self, purpose: str) -> None:
        """Refuse an emulated run, whose times mean nothing; `purpose` is the use in the error."""
        if not self.tells_speed:
            raise refusal(
                "unsupported", f"{self.path}: {NOTICE}: {purpose} needs a run of real or simulated times"
            )

    @cached_property
    def system(self) -> "System | None":
        """The complete system of a simulated run; None without one, or if this version knows other keys."""
        from pcielab.library.profiles.parts import System

        return None if self._system is None else System(self._system)

    def require_system(self) -> "System":
        """The system of a simulated run; refused if it is not complete."""
        return self.system or system_of(self.manifest, self.path)

    @property
    def title(self) -> str:
        """One line for people; the name of the file if the manifest has none."""
        return str(self.manifest.get("title") or self.path.stem)

    @property
    def kind(self) -> RunKind:
        """Kind of the run, from the parameters of its tests."""
        return self._contents.kind

    def is_of(self, kind: RunKind) -> bool:
        """Whether it is of a kind. What depends on the kind is in its folder, `pcielab.kinds`."""
        return self.kind == kind

    def require_kind(self, kind: RunKind, purpose: str) -> None:
        """Refuse a run of another kind; `purpose` is the use in the error."""
        if not self.is_of(kind):
            raise refusal(
                "unsupported", f"{self.path}: is a run of kind {self.kind}: {purpose} needs one of kind {kind}"
            )

    @property
    def planned(self) -> int | None:
        """Number of tests of the whole run; None if the store lacks it, as in schema 1."""
        tests = self.manifest.get("tests")
        return tests if isinstance(tests, int) else None

    @cached_property
    def done(self) -> int:
        """Number of tests that have ended, with any status."""
        return sum(status != "interrupted" for status in self._statuses)

    @property
    def incomplete(self) -> bool:
        """Whether the run was stopped before its last test, or is still running."""
        return self.planned is not None and self.done < self.planned

    @property
    def extent(self) -> str:
        """The number of tests in words: `81 tests`, or `5 of 81 tests` of an incomplete run."""
        number = f"{self.done} of {self.planned}" if self.incomplete else str(len(self._statuses))
        return f"{number} {'test' if number == '1' else 'tests'}"

    @property
    def described(self) -> str:
        """Title and origin, and the extent of an incomplete run."""
        return f"{self.title} ({self.origin}{f', {self.extent}' if self.incomplete else ''})"

    @property
    def latency_includes(self) -> str:
        """Parts of a latency besides the transfer, if the device gives them: `doorbell, interrupt`."""
        return ", ".join(map(str, (self.manifest.get("device") or {}).get("latency_includes") or ()))

    @cached_property
    def _contents(self) -> _core.StoreContents:
        contents = _core.read_store(self.path)
        if json.loads(contents.manifest) != self.manifest:
            raise refusal("conflict", f"{self.path}: the store was replaced since it was opened: open it again")
        return contents

    def _listed(self) -> list[_Test]:
        """The tests; long ones are asked for anew, since the parameters of many flows would fill memory."""
        if self._few_tests is not None:
            return [*self._few_tests]
        tests = self._contents.tests()
        if sum(len(parameters) for _, _, _, parameters, _, _ in tests) <= _KEPT_LETTERS:
            self._few_tests = tuple(tests)
        return tests

    @cached_property
    def _statuses(self) -> list[str]:
        return [status for *_, status, _ in self._listed()]

    @cached_property
    def tests(self) -> "pd.DataFrame":
        """One row per test, in suite order.

        The columns are id, family, name, one per parameter (`operation`, `size_bytes`...), status, message.
        """
        import pandas as pd

        rows = list(self.test_rows())
        last = {name: [row.pop(name) for row in rows] for name in ("status", "message")}
        frame = pd.DataFrame.from_records(rows, columns=None if rows else ["id", "family", "name"])
        frame["status"] = last["status"]
        frame["message"] = pd.Series(last["message"], dtype=object)
        return frame

    def _parameters(self, test: int, text: str) -> dict[str, Any]:
        parameters: dict[str, Any] = json.loads(text)
        taken = {"id", "family", "name", "status", "message"} & parameters.keys()
        if taken:
            raise refusal("malformed", f"{self.path}: test {test}: `{min(taken)}` is not the name of a parameter")
        check_parameters(parameters, self.path, f"test {test}")
        return parameters

    def test_rows(self) -> Iterator[dict[str, Any]]:
        """The rows of `tests` as plain data, without pandas: a row has only the parameters of its own test."""
        rows = self._listed()[::-1]
        while rows:
            test, family, name, parameters, status, message = rows.pop()
            row = {"id": test, "family": family, "name": name} | self._parameters(test, parameters)
            del parameters
            yield row | {"status": status, "message": message}

    @cached_property
    def metrics(self) -> dict[tuple[int, str], dict[str, float]]:
        """The values of each test and subject by metric, without pandas; a test as a whole has the subject ""."""
        found: dict[tuple[int, str], dict[str, float]] = {}
        for test, subject, metric, _, value in zip(*self._contents.scalars(), strict=True):
            found.setdefault((test, subject), {})[metric] = value
        return found

    @cached_property
    def scalar_rows(self) -> "pd.DataFrame":
        """Every number as a row: test, subject (empty for the test as a whole), metric, unit, value."""
        import pandas as pd

        columns = ("test", "subject", "metric", "unit", "value")
        frame = pd.DataFrame(dict(zip(columns, self._contents.scalars(), strict=True)))
        return frame.astype({"test": "int64", "subject": str, "metric": str, "unit": str, "value": "float64"})

    @cached_property
    def scalars(self) -> "pd.DataFrame":
        """`tests`, with a further column for each metric of a test as a whole (`bandwidth`, `median`, ...).

        Values are in the units of `units`; a missing metric is NaN. The parameter `transactions` is
        `transactions_asked` here: `transactions` is the metric, the number that ran.
        """
        whole = self.scalar_rows[self.scalar_rows["subject"] == ""]
        wide = whole.pivot(index="test", columns="metric", values="value")
        known = [metric for metric in METRICS if metric in wide.columns]
        wide = wide[known + sorted(set(wide.columns) - set(known))]
        asked = self.tests.rename(columns={"transactions": "transactions_asked"})
        taken = sorted(set(asked.columns) & set(wide.columns))
        if taken:
            raise refusal(
                "conflict", f"{self.path}: `{taken[0]}` names a parameter and a metric: rename one of them"
            )
        return asked.join(wide, on="id")

    @cached_property
    def units(self) -> dict[str, str]:
        """The unit of each metric: `{"median": "ns", "bandwidth": "Gb/s", ...}`; `1` for a count."""
        return dict(zip(self.scalar_rows["metric"], self.scalar_rows["unit"], strict=True))

    def distribution(self, test_id: int, metric: str = "latency") -> "pd.DataFrame":
        """The histogram of a metric of a test, or empty: bin (in ticks, ascending), count, `<metric>_ns`, cdf."""
        import pandas as pd

        tick, bins, counted = self._distribution(test_id, metric)
        bin_, counts = pd.Series(bins, dtype="int64"), pd.Series(counted, dtype="int64")
        return pd.DataFrame(
            {
                "bin": bin_,
                "count": counts,
                f"{metric}_ns": bin_ * tick.numerator / tick.denominator,
                "cdf": counts.cumsum() / counts.sum(),
            }
        )

    def histogram(self, test_id: int, metric: str = "latency") -> tuple[list[float], list[int]]:
        """The values of `distribution`, ns, and their counts, without pandas."""
        tick, bins, counts = self._distribution(test_id, metric)
        return [bin_ * tick.numerator / tick.denominator for bin_ in bins], counts

    def _distribution(self, test_id: int, metric: str) -> tuple[Fraction, list[int], list[int]]:
        tick, bins, counts = self._contents.distribution(test_id, metric) or ("1", [], [])
        try:
            return Fraction(tick), bins, counts
        except (ValueError, ZeroDivisionError):
            raise refusal("malformed", f"{self.path}: test {test_id}: tick {tick!r} is not a fraction") from None

    def tick_ns(self, test_id: int, metric: str = "latency") -> float:
        """Length of a tick of a test's distribution and series, ns; 1 without a distribution."""
        return float(self._distribution(test_id, metric)[0])

    def series(self, test_id: int, metric: str = "latency_ticks") -> "pd.DataFrame":
        """Numbers of a test in order, for example its latencies in ticks: index, value. Empty if it has none."""
        import pandas as pd

        values = pd.Series(self._contents.series(test_id, metric), dtype="float64")
        return pd.DataFrame({"index": range(len(values)), "value": values})

    @property
    def trace_ns(self) -> float | None:
        """Time of each test whose trace the run keeps, ns; None without traces."""
        span = self.manifest.get("trace_ns")
        return float(span) if isinstance(span, int | float) else None

    def trace_columns(self, test_id: int) -> dict[str, list[Any]]:
        """The trace of a test by its columns, as `trace` has them, without pandas; empty lists without one."""
        return dict(zip(TRACE_COLUMNS, self._contents.trace(test_id), strict=True))

    def trace(self, test_id: int) -> "pd.DataFrame":
        """The trace of a test, in the order of the starts; empty without one.

        A row is a TLP on the link, a phase of a request in a part of the machine, or a counter's new value. Its
        columns are kind (`tlp`, `phase`, `counter`), lane, name, start_ps and end_ps from the start of the test,
        request (its number), tag, address, bytes, value (of a counter; of a completion, its Byte Count).
        """
        import pandas as pd

        columns = self.trace_columns(test_id)
        wide = {"request": "Int64", "tag": "Int64", "address": "UInt64", "bytes": "Int64", "value": "Int64"}
        return pd.DataFrame(columns).astype(wide)

    def capture(self, test_id: int, form: str = "raw") -> tuple[bytes, list[tuple[str, int]]]:
        """The TLPs of a test's trace as the bytes of a capture, without data, and what its form cannot hold.

        Args:
            test_id: The test.
            form: `raw` (pcap-ng), `cyrozap`, `list`, `text`, `ila-csv` or `vcd`.
        """
        return self._contents.capture(test_id, form)

    @cached_property
    def attachments(self) -> dict[str, str]:
        """Attached texts by name: the `sys-*.txt` files of a measured system."""
        return dict(self._contents.attachments())

    def records(self) -> Iterator[dict[str, Any]]:
        """All data of each test as plain nested data, in suite order and with a fixed order of keys."""
        for text in self._contents.records():
            record = json.loads(text)
            record["parameters"] = self._parameters(record["id"], record["parameters"])
            yield record


def _manifest_text(path: Path) -> str:
    """The manifest of a store; the error of a missing file names the files beside it that resemble it."""
    try:
        return _core.read_manifest(path)
    except InputError as error:
        near = [] if is_there(path) or is_folder(path) else files_alike(path)
        if not near:
            raise
        remedy = f"did you mean {either(near)}?"
        missing = with_message(error, f"{path}: no such file: {remedy}")
        missing.subject, missing.remedy = str(path), remedy
        raise missing from None
