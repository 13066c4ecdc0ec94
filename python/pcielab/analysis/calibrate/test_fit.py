"""The joint fit on rows with linear responses: it recovers values, and marks those without evidence."""

from collections.abc import Sequence
from typing import Any

import pytest

from pcielab.analysis.calibrate.fit import JointFit, Unknown
from pcielab.analysis.calibrate.measured import Row
from pcielab.analysis.calibrate.parameters import Parameter
from pcielab.analysis.calibrate.twin import Predicted, Twin, Values

FIRST, SECOND, UNSEEN = (Parameter(key, 0, 1000, 50, 4) for key in ("first", "second", "unseen"))


class Line(Twin):
    """A twin whose latencies are sums of its values: no simulation."""

    def __init__(self, weights: Sequence[dict[str, float]], averages: Sequence[float]) -> None:
        self.system: dict[str, Any] = {"first": 100.0, "second": 100.0, "unseen": 100.0}
        self.weights = weights
        self.rows = tuple(
            Row(index, "lat", {"size_bytes": 8}, "LAT_CMD_RD", average_ns=average)
            for index, average in enumerate(averages)
        )

    def predict(
        self, variants: Sequence[Values], wanted: Sequence[Sequence[int]] | None = None
    ) -> list[list[Predicted]]:
        rows = wanted or [range(len(self.rows))] * len(variants)
        return [
            [
                Predicted(
                    average_ns=sum(
                        factor * (self.system | dict(variant))[key] for key, factor in self.weights[row].items()
                    )
                )
                for row in of_variant
            ]
            for variant, of_variant in zip(variants, rows, strict=True)
        ]


def test_recovers_values_despite_an_outlier() -> None:
    weights = [{"first": 1.0}, {"second": 1.0}, {"first": 1.0, "second": 1.0}, {"first": 1.0}, {"first": 1.0}]
    twin = Line(weights, [130.0, 75.0, 205.0, 130.0, 500.0])
    estimates, left = JointFit([twin], [Unknown(one, 100.0) for one in (FIRST, SECOND, UNSEEN)]).run(patient=True)
    first, second, unseen = estimates
    assert first.value == pytest.approx(130.0, abs=0.5)
    assert second.value == pytest.approx(75.0, abs=0.5)
    assert [one.identified for one in estimates] == [True, True, False]
    assert unseen.evidence == ()
    assert unseen.value == pytest.approx(100.0)
    assert first.half_width < 10 < unseen.half_width
    assert set(second.evidence) == {1, 2}
    assert abs(left[8]) > 100


def test_fits_shared_and_own_unknowns_of_two_twins() -> None:
    weights = [{"first": 1.0}, {"first": 1.0, "second": 1.0}]
    twins = [Line(weights, [120.0, 200.0]), Line(weights, [120.0, 260.0])]
    unknowns = [Unknown(FIRST, 100.0, (0, 1)), Unknown(SECOND, 100.0, (0,)), Unknown(SECOND, 100.0, (1,))]
    estimates, _ = JointFit(twins, unknowns).run(patient=True)
    assert [one.value for one in estimates] == [pytest.approx(value, abs=2) for value in (120, 80, 140)]
    assert [twin.system["second"] for twin in twins] == [pytest.approx(value, abs=0.6) for value in (80, 140)]


def test_estimate_stays_within_bounds() -> None:
    twin = Line([{"first": 1.0}], [-50.0])
    [estimate], _ = JointFit([twin], [Unknown(FIRST, 100.0)]).run()
    assert 0 <= estimate.value < 1


def test_reports_an_estimate_at_its_bound() -> None:
    twin = Line([{"first": 1.0, "second": 1.0}, {"second": 1.0}], [60.0, 130.0])
    estimates, _ = JointFit([twin], [Unknown(one, 100.0) for one in (FIRST, SECOND)]).run(patient=True)
    first, second = estimates
    assert first.at_bound
    assert first.interval[0] == 0
    assert 0 < first.interval[1] < 1000
    assert not second.at_bound
