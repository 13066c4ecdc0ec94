"""Reading a store as data frames, for notebooks and for everything in pcielab that shows numbers.

`docs/reference/store.md` documents the file. This module only reads; stores are written by the compiled half.
pandas is loaded with the first frame, which many commands never ask for.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcielab.errors import InputError
from pcielab.shipped import SuiteKind

if TYPE_CHECKING:
    import pandas as pd

APPLICATION_ID = 0x70636C62
SCHEMA_VERSION = 1

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
"""The metrics of the published suite, in the order in which they are shown; others follow by the alphabet."""


class Store:
    """One run: its manifest, its tests, and their numbers. Made by `open_store`.

    Frames are read once, when first asked for, and shared: copy one before changing it.

    Attributes:
        path: Where the store is.
        manifest: What was run on what, in the order in which it was written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._connection() as connection:
            self.manifest: dict[str, Any] = {
                key: json.loads(value)
                for key, value in connection.execute("SELECT key, value FROM manifest ORDER BY rowid")
            }

    def __repr__(self) -> str:
        return f"<Store {self.path}: {self.title}, {self.origin}, {len(self.tests)} tests>"

    @property
    def origin(self) -> str:
        """Where the numbers come from: measured, simulated, emulated, rtl or modelled."""
        return str(self.manifest.get("origin", "unknown"))

    @property
    def title(self) -> str:
        """One line for people; the name of the file where the manifest has none."""
        return str(self.manifest.get("title") or self.path.stem)

    @property
    def kind(self) -> SuiteKind:
        """What its tests send, as their parameters tell: transfers, messages, or flows through a fabric."""
        parameters = set(self.tests.columns)
        return "messages" if "way" in parameters else "fabric" if "flows" in parameters else "transfers"

    def require_kind(self, kind: SuiteKind, purpose: str) -> None:
        """Refuse a store whose tests are of another kind.

        Args:
            kind: What is needed.
            purpose: What it is needed for, in words.

        Raises:
            InputError: They are of another kind.
        """
        if self.kind != kind:
            raise InputError(f"{self.path}: is a run of kind {self.kind}: {purpose} needs one of kind {kind}")

    @cached_property
    def tests(self) -> "pd.DataFrame":
        """One row per test, in suite order.

        The columns are id, family, name, one per parameter (such as `operation` or `size_bytes`), status, message.
        """
        import pandas as pd

        with self._connection() as connection:
            rows = connection.execute(
                "SELECT id, family, name, parameters, status, message FROM test ORDER BY id"
            ).fetchall()
        records = [
            {"id": test, "family": family, "name": name} | json.loads(parameters)
            for test, family, name, parameters, _, _ in rows
        ]
        frame = pd.DataFrame.from_records(records, columns=None if records else ["id", "family", "name"])
        frame["status"] = [row[4] for row in rows]
        frame["message"] = pd.Series([row[5] for row in rows], dtype=object)
        return frame

    @cached_property
    def scalar_rows(self) -> "pd.DataFrame":
        """Every number as a row: test, subject (empty for the test as a whole), metric, unit, value."""
        return self._frame("SELECT test, subject, metric, unit, value FROM scalar ORDER BY test, subject, metric")

    @cached_property
    def scalars(self) -> "pd.DataFrame":
        """`tests`, with one column more for each metric of a test as a whole (`bandwidth`, `median`, ...).

        Values are in the units of `units`; a test that lacks a metric has NaN. The parameter `transactions`, how
        many were asked for, is `transactions_asked` here: `transactions` is the metric, how many there were.
        """
        whole = self.scalar_rows[self.scalar_rows["subject"] == ""]
        wide = whole.pivot(index="test", columns="metric", values="value")
        known = [metric for metric in METRICS if metric in wide.columns]
        wide = wide[known + sorted(set(wide.columns) - set(known))]
        return self.tests.rename(columns={"transactions": "transactions_asked"}).join(wide, on="id")

    @cached_property
    def units(self) -> dict[str, str]:
        """The unit of each metric: `{"median": "ns", "bandwidth": "Gb/s", ...}`; `1` for a count."""
        return dict(zip(self.scalar_rows["metric"], self.scalar_rows["unit"], strict=True))

    def distribution(self, test_id: int, metric: str = "latency") -> "pd.DataFrame":
        """The histogram of a test: bin (in ticks, rising), count, `<metric>_ns`, cdf. Empty if it has none.

        Args:
            test_id: The test's `id`.
            metric: What was measured.
        """
        import pandas as pd

        frame = self._frame(
            "SELECT tick, bin, count FROM distribution WHERE test = ? AND metric = ? ORDER BY bin", test_id, metric
        )
        tick = Fraction(frame["tick"].iloc[0]) if len(frame) else Fraction(1)
        counts = frame["count"].astype("int64")
        return pd.DataFrame(
            {
                "bin": frame["bin"].astype("int64"),
                "count": counts,
                f"{metric}_ns": frame["bin"].astype("int64") * tick.numerator / tick.denominator,
                "cdf": counts.cumsum() / counts.sum(),
            }
        )

    def series(self, test_id: int, metric: str = "latency") -> "pd.DataFrame":
        """Numbers of a test in order, such as its first latencies in ticks: index, value. Empty if it has none.

        Args:
            test_id: The test's `id`.
            metric: What was measured.
        """
        return self._frame(
            'SELECT "index", value FROM series WHERE test = ? AND metric = ? ORDER BY "index"', test_id, metric
        )

    @cached_property
    def attachments(self) -> dict[str, str]:
        """Texts kept beside the numbers, by name: the `sys-*.txt` files of a measured system."""
        with self._connection() as connection:
            return dict(connection.execute("SELECT name, content FROM attachment ORDER BY name").fetchall())

    def records(self) -> Iterator[dict[str, Any]]:
        """Everything about each test as plain nested data, in suite order and with a fixed order of keys."""
        with self._connection() as connection:
            scalars = _by_test(
                connection,
                "SELECT test, subject, metric, unit, value FROM scalar ORDER BY test, subject, metric",
            )
            bins = _by_test(
                connection, "SELECT test, metric, tick, bin, count FROM distribution ORDER BY test, metric, bin"
            )
            series = _by_test(connection, 'SELECT test, metric, value FROM series ORDER BY test, metric, "index"')
            tests = connection.execute(
                "SELECT id, family, name, parameters, status, message FROM test ORDER BY id"
            ).fetchall()
        for test, family, name, parameters, status, message in tests:
            yield {
                "id": test,
                "family": family,
                "name": name,
                "parameters": json.loads(parameters),
                "status": status,
                "message": message,
                "scalars": [
                    {"subject": subject, "metric": metric, "unit": unit, "value": value}
                    for subject, metric, unit, value in scalars[test]
                ],
                "distributions": [
                    {"metric": metric, "tick": tick, "bins": [row[2:] for row in rows]}
                    for (metric, tick), rows in groupby(bins[test], key=lambda row: row[:2])
                ],
                "series": [
                    {"metric": metric, "values": [row[1] for row in rows]}
                    for metric, rows in groupby(series[test], key=lambda row: row[0])
                ],
            }

    def _frame(self, query: str, *values: object) -> "pd.DataFrame":
        import pandas as pd

        with self._connection() as connection:
            cursor = connection.execute(query, values)
            columns = [column[0] for column in cursor.description]
            return pd.DataFrame(cursor.fetchall(), columns=columns)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with _read_only(self.path) as connection:
            yield connection


def open_store(path: str | Path) -> Store:
    """Open a store for reading; one that is being written, or was left by a killed run, may be read too.

    Args:
        path: The store's file.

    Raises:
        InputError: There is no such file, it is not a store, or its schema is newer than this pcielab.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: no such file: give the path of a store, as `pcielab run` or `import` writes it")
    if not path.is_file():
        raise InputError(f"{path}: is not a regular file: a store is one ordinary file")
    with _read_only(path) as connection:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        schema = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise InputError(f"{path}: is not a pcielab store")
    if schema > SCHEMA_VERSION:
        raise InputError(
            f"{path}: has store schema {schema}, newer than {SCHEMA_VERSION}, the newest that this version of "
            "pcielab knows: use the version that wrote it, or a later one"
        )
    return Store(path)


def _by_test(connection: sqlite3.Connection, query: str) -> defaultdict[int, list[tuple[Any, ...]]]:
    """Rows by their first column, which is left out of them."""
    rows: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for test, *row in connection.execute(query):
        rows[test].append(tuple(row))
    return rows


@contextmanager
def _read_only(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            yield connection
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            raise InputError(f"{path}: is not a pcielab store") from error
        raise InputError(f"{path}: cannot be read as a pcielab store: {error}") from error
