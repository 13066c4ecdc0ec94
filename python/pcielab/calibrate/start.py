"""Starting values: parameters that one row, or the difference of two, shows, solved one by one.

The simulated machine answers a parameter in a straight line near its value, so two simulations give the slope, and
the slope gives the value at which prediction and measurement agree.
"""

from collections.abc import Sequence

from pcielab.calibrate.measured import Row
from pcielab.calibrate.parameters import Parameter, Select, Shown
from pcielab.calibrate.residuals import predicted_ns, transaction_ns
from pcielab.calibrate.twin import Predicted, Twin

_ROUNDS = 2
_FLAT_NS = 0.01
"""A row that answers a step by less than this does not show the parameter after all."""


def solve_start(twin: Twin, parameters: Sequence[Parameter]) -> None:
    """Give the twin the values at which the rows that show each parameter agree with what was measured."""
    shown = {one.key: found for one in parameters if (found := _measured(twin.rows, one))}
    for _ in range(_ROUNDS):
        for parameter in parameters:
            if parameter.key in shown:
                _solve(twin, parameter, *shown[parameter.key])


def _measured(rows: Sequence[Row], parameter: Parameter) -> tuple[int, int | None] | None:
    """Numbers of the rows that show the parameter: of the first way for which they were measured."""
    for way in parameter.shown_by:
        found = _numbers(rows, way)
        if found is not None:
            return found
    return None


def _numbers(rows: Sequence[Row], way: Shown) -> tuple[int, int | None] | None:
    row, less = _number(rows, way.row), _number(rows, way.less)
    if row is None or (way.less is not None and less is None):
        return None
    return row, less


def _number(rows: Sequence[Row], wanted: Select | None) -> int | None:
    if wanted is None:
        return None
    return next((number for number, row in enumerate(rows) if wanted.matches(row.name, row.test)), None)


def _solve(twin: Twin, parameter: Parameter, row: int, less: int | None) -> None:
    numbers = [row] if less is None else [row, less]
    value = twin.value(parameter.key)
    step = parameter.step if value + parameter.step <= parameter.high else -parameter.step
    before, after = (
        _apart([twin.rows[number] for number in numbers], predicted)
        for predicted in twin.predict([{}, {parameter.key: parameter.rounded(value + step)}], [numbers] * 2)
    )
    if before is None or after is None or abs(after - before) < _FLAT_NS:
        return
    measured = _apart([twin.rows[number] for number in numbers])
    if measured is None:
        return
    # Half of what is believed to be possible at a time: the answer is straight near the value only.
    change = (measured - before) * step / (after - before)
    limit = 3 * parameter.spread
    twin.keep({parameter.key: parameter.rounded(value + min(max(change, -limit), limit))})


def _apart(rows: Sequence[Row], predicted: Sequence[Predicted] | None = None) -> float | None:
    """The time of the first row, less that of the second one where there is one."""
    times = [
        transaction_ns(row) if predicted is None else predicted_ns(row, predicted[place])
        for place, row in enumerate(rows)
    ]
    if any(time is None for time in times):
        return None
    first, *rest = [time for time in times if time is not None]
    return first - sum(rest)
