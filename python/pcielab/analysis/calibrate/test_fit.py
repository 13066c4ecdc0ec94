"""The joint fit on rows that answer in straight lines: values come out, and what no row tells is marked."""

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
            Row(place, "lat", {"size_bytes": 8}, "LAT_CMD_RD", average_ns=average)
            for place, average in enumerate(averages)
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


def test_values_come_out_and_an_outlier_does_not_move_them() -> None:
    weights = [{"first": 1.0}, {"second": 1.0}, {"first": 1.0, "second": 1.0}, {"first": 1.0}, {"first": 1.0}]
    twin = Line(weights, [130.0, 75.0, 205.0, 130.0, 500.0])
    estimates, left = JointFit([twin], [Unknown(one, 100.0) for one in (FIRST, SECOND, UNSEEN)]).run(patient=True)
    first, second, unseen = estimates
    assert first.value == pytest.approx(130.0, abs=0.5)
    assert second.value == pytest.approx(75.0, abs=0.5)
    assert first.identified
    assert second.identified
    assert not unseen.identified
    assert unseen.evidence == ()
    assert unseen.value == pytest.approx(100.0)
    assert first.half_width < 10 < unseen.half_width
    assert set(second.evidence) == {1, 2}
    assert abs(left[8]) > 100


def test_twins_share_what_is_common_and_keep_their_own() -> None:
    weights = [{"first": 1.0}, {"first": 1.0, "second": 1.0}]
    twins = [Line(weights, [120.0, 200.0]), Line(weights, [120.0, 260.0])]
    unknowns = [Unknown(FIRST, 100.0, (0, 1)), Unknown(SECOND, 100.0, (0,)), Unknown(SECOND, 100.0, (1,))]
    estimates, _ = JointFit(twins, unknowns).run(patient=True)
    assert [one.value for one in estimates] == [pytest.approx(value, abs=2) for value in (120, 80, 140)]
    assert [
        twin.system["second"] == pytest.approx(value, abs=0.6)
        for twin, value in zip(twins, (80, 140), strict=True)
    ] == [True, True]


def test_bounds_hold() -> None:
    twin = Line([{"first": 1.0}], [-50.0])
    [estimate], _ = JointFit([twin], [Unknown(FIRST, 100.0)]).run()
    assert 0 <= estimate.value < 1


def test_a_value_that_rows_want_below_what_can_be_is_at_its_bound() -> None:
    twin = Line([{"first": 1.0, "second": 1.0}, {"second": 1.0}], [60.0, 130.0])
    estimates, _ = JointFit([twin], [Unknown(one, 100.0) for one in (FIRST, SECOND)]).run(patient=True)
    first, second = estimates
    assert first.at_bound
    assert first.interval[0] == 0
    assert 0 < first.interval[1] < 1000
    assert not second.at_bound
