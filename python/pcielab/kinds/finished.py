"""The finished tests of a run, as rows that pair with those of another run."""

from typing import Any

from pcielab.store import Store


def finished(store: Store) -> list[dict[str, Any]]:
    """The finished tests with their metrics."""
    return [test | store.metrics.get((test["id"], ""), {}) for test in store.test_rows() if test["status"] == "ok"]


def known(value: Any) -> Any:
    """A cell as a plain value; None where it is missing."""
    return value if value == value else None


def is_known(row: Any, metric: str) -> bool:
    """Whether the first run of a pair has a metric."""
    value = row.get(f"{metric}_a_{'gbps' if metric == 'bandwidth' else 'ns'}")
    return value is not None and value == value
