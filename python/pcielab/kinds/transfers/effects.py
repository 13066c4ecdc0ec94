"""The effect of the caches on the latencies of a measured run: tests that differ only in their cache state.

Time that does not depend on the caches, for example that of a drive's medium, is in both medians and cancels out.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pcielab.kinds.transfers.compare import difference_errors_ns, is_resolvable
from pcielab.store import Store
from pcielab.store.identity import SETTING

_ALIKE = tuple(key for key in SETTING if key != "cache")
_BASELINE = "host-warm"


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A test's median less that of the same test with caches that the host has warmed.

    Attributes:
        test: Its number.
        baseline: Number of the test with warm caches.
        name: Its published name.
        parameters: Its parameters.
        median_ns: Its median.
        difference_ns: Its median less that of the baseline.
        standard_error_ns: Standard error of the difference, of the samples.
    """

    test: int
    baseline: int
    name: str
    parameters: Mapping[str, Any]
    median_ns: float
    difference_ns: float
    standard_error_ns: float

    @property
    def is_resolvable(self) -> bool:
        """Whether the difference is at least two standard errors."""
        return is_resolvable(self.difference_ns, self.standard_error_ns)


def effects_of(store: Store) -> list[Effect]:
    """The effects of the caches on a measured run's latencies, in suite order; empty if no latency was counted."""
    if store.origin != "measured":
        return []
    groups: defaultdict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for record in store.records():
        if record["status"] == "ok" and _median_ns(record) is not None:
            groups[record["family"], *(record["parameters"].get(key) for key in _ALIKE)].append(record)
    found = [effect for group in groups.values() for effect in _of_group(store, group)]
    return sorted(found, key=lambda effect: effect.test)


def _of_group(store: Store, group: list[Mapping[str, Any]]) -> list[Effect]:
    warm = next((one for one in group if one["parameters"].get("cache") == _BASELINE), None)
    if warm is None:
        return []
    others = [one for one in group if one["parameters"].get("cache") != _BASELINE]
    errors = difference_errors_ns(store, store, [(warm["id"], one["id"]) for one in others])
    return [
        Effect(
            test=one["id"],
            baseline=warm["id"],
            name=one["name"],
            parameters=one["parameters"],
            median_ns=_median_ns(one) or 0.0,
            difference_ns=(_median_ns(one) or 0.0) - (_median_ns(warm) or 0.0),
            standard_error_ns=error,
        )
        for one, error in zip(others, errors, strict=True)
        if error == error
    ]


def _median_ns(record: Mapping[str, Any]) -> float | None:
    found = (row["value"] for row in record["scalars"] if row["metric"] == "median" and not row["subject"])
    return next((float(value) for value in found), None)
