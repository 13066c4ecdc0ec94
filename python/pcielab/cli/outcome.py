"""The results that `pcielab run` prints when it is done."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pcielab.cli.output import Cell, Format, print_rows, say, say_sentences
from pcielab.errors import RunError

if TYPE_CHECKING:
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
    if store.tells_speed and table and row["status"] == "ok":
        from pcielab.analysis.explain import in_words

        say_sentences(in_words(store, _only_test(store)["id"]))
        say_sentences(_expectations(expected))


def report_outcome(store: "Store", name: str) -> None:
    """Say on stderr how the tests ended; the row of a single test has been printed.

    Raises:
        RunError: A test failed, or no test has a result.
    """
    tests = [*store.test_rows()]
    given = sum(test["status"] == "ok" for test in tests)
    if len(tests) > 1 and given:
        say(f"{given} tests {store.origin} on {name}: {store.path}")
    say_without_result(tests)
    _say_caution(store)
    failed = sum(test["status"] == "failed" for test in tests)
    if failed:
        raise RunError(f"{store.path}: {failed} tests failed")
    if not given:
        raise RunError(f"{store.path}: no test has a result")


def say_without_result(tests: Iterable[Mapping[str, Any]]) -> None:
    """Count on stderr the tests without a result, by status and message."""
    without = Counter((test["status"], test["message"]) for test in tests if test["status"] != "ok")
    for (status, message), count in without.items():
        say(f"{count} {status}: {message}")


def _say_caution(store: "Store") -> None:
    """Say on stderr if write-combined stores were probably not combined."""
    from pcielab.kinds.messages.combining import caution

    found = caution(store)
    if found is not None:
        say(f"caution: {found}")


def _only_test(store: "Store") -> dict[str, Any]:
    """The first test of a run, which has no other."""
    return next(store.test_rows())


def _values(store: "Store") -> dict[str, float]:
    """The values of the test by metric, without those that are no number."""
    metrics = store.metrics.get((_only_test(store)["id"], ""), {})
    return {metric: value for metric, value in metrics.items() if value == value}


def _row(store: "Store") -> dict[str, Cell]:
    test, values = _only_test(store), _values(store) if store.tells_speed else {}
    asked: dict[str, Cell] = {key: test[key] for key in _ASKED}
    found: dict[str, Cell] = {
        f"{metric}_{unit}": values[metric] for metric, unit in _UNITS.items() if metric in values
    }
    return {"name": test["name"], **asked, "status": test["status"], "origin": store.origin, **found}


def _expected(store: "Store") -> dict[str, float]:
    """Where a measured value lies with 90 % probability, if the run is of a twin whose errors are known."""
    from pcielab.analysis.validate import twin_of

    twin, test, values = twin_of(store), _only_test(store), _values(store)
    metric = "bandwidth" if "bandwidth" in values else "median"
    if twin is None or test["status"] != "ok" or metric not in values:
        return {}
    interval = twin.interval(test, metric, values[metric])
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
