"""The results that `pcielab run` prints when it is done."""

from typing import TYPE_CHECKING

from pcielab.cli.output import Cell, Format, print_rows, say, say_sentences
from pcielab.errors import RunError

if TYPE_CHECKING:
    import pandas as pd

    from pcielab.store import Store

_ASKED = ("size_bytes", "window_bytes", "cache", "pattern", "host_offset_bytes", "device_offset_bytes")
_UNITS = {
    "bandwidth": "gbps",
    "bandwidth_low": "gbps",
    "bandwidth_high": "gbps",
    "rate": "per_second",
    "average": "ns",
    "median": "ns",
    "minimum": "ns",
    "p95": "ns",
    "p99": "ns",
}


def print_single(store: "Store", name: str, output_format: Format) -> None:
    """Print the row of a run of one test; a table is followed by its bound and by advice."""
    row, expected, table = _row(store), _expected(store), output_format is Format.TABLE
    print_rows([row if table else {**row, **expected}], output_format, title=f"{name} ({store.origin})")
    if store.tells_speed and table and store.tests["status"].iloc[0] == "ok":
        from pcielab.analysis.explain import in_words

        say_sentences(in_words(store, int(store.tests["id"].iloc[0])))
        say_sentences(_expectations(expected))


def report_outcome(store: "Store", name: str) -> None:
    """Say on stderr how the tests ended; the row of a single test has been printed.

    Raises:
        RunError: A test failed, or no test has a result.
    """
    tests = store.tests
    given = int((tests["status"] == "ok").sum())
    if len(tests) > 1 and given:
        say(f"{given} tests {store.origin} on {name}: {store.path}")
    say_without_result(tests)
    _say_caution(store)
    failed = int((tests["status"] == "failed").sum())
    if failed:
        raise RunError(f"{store.path}: {failed} tests failed")
    if not given:
        raise RunError(f"{store.path}: no test has a result")


def say_without_result(tests: "pd.DataFrame") -> None:
    """Count on stderr the tests without a result, by status and message."""
    without = tests[tests["status"] != "ok"]
    for (status, message), rows in without.groupby(["status", "message"], dropna=False, sort=False):
        say(f"{len(rows)} {status}: {message}")


def _say_caution(store: "Store") -> None:
    """Say on stderr if write-combined stores were probably not combined."""
    from pcielab.analysis.combining import caution

    found = caution(store)
    if found is not None:
        say(f"caution: {found}")


def _row(store: "Store") -> dict[str, Cell]:
    row = store.scalars.iloc[0]
    asked: dict[str, Cell] = {key: _plain(row[key]) for key in _ASKED}
    found: dict[str, Cell] = {
        f"{metric}_{unit}": float(row[metric])
        for metric, unit in _UNITS.items()
        if store.tells_speed and metric in row and row[metric] == row[metric]
    }
    return {"name": row["name"], **asked, "status": row["status"], "origin": store.origin, **found}


def _expected(store: "Store") -> dict[str, float]:
    """Where a measured value lies with 90 % probability, if the run is of a twin whose errors are known."""
    from pcielab.analysis.validate import twin_of

    twin = twin_of(store)
    row = {str(key): value for key, value in store.scalars.iloc[0].items()}
    metric = "bandwidth" if row.get("bandwidth") == row.get("bandwidth") else "median"
    if twin is None or row["status"] != "ok" or row.get(metric) is None:
        return {}
    interval = twin.interval(row, metric, float(row[metric]))
    if interval is None:
        return {}
    unit = _UNITS[metric]
    return {f"expected_low_{unit}": interval.low, f"expected_high_{unit}": interval.high}


def _expectations(expected: dict[str, float]) -> list[str]:
    """The same in words."""
    if not expected:
        return []
    low, high = expected.values()
    what, unit = ("bandwidth", "Gb/s") if "expected_low_gbps" in expected else ("median latency", "ns")
    values = f"a {what} of {low:.4g} to {high:.4g} {unit}"
    return [f"expected on the machine: {values} (90 %, by the errors of other machines' twins)"]


def _plain(value: object) -> Cell:
    return value if isinstance(value, str) else int(str(value))
