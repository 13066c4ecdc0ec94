"""Starting values: each parameter that one row, or the difference of two, shows, solved alone.

Near its value, the simulated machine's response to a parameter is a straight line: two simulations give the slope,
and the slope the value at which prediction and measurement agree. Of several ways the median counts, since one of
them may be disturbed.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from pcielab.analysis.calibrate.measured import Row
from pcielab.analysis.calibrate.parameters import Parameter, Select, Shown
from pcielab.analysis.calibrate.residuals import predicted_ns, transaction_ns
from pcielab.analysis.calibrate.twin import Predicted, Twin

_ROUNDS = 2
_SPREADS = 3
_CONTRADICTED_NS = 10.0
"""A row that should be slower than another contradicts it if it is faster by more than this."""
_FLAT_NS = 0.01
"""A row that responds to a step by less than this does not show the parameter."""


def solve_start(twin: Twin, parameters: Sequence[Parameter], base: Mapping[str, Any]) -> None:
    """Give the twin the values at which the rows that show each parameter agree with the measurement.

    Args:
        twin: The twin; it takes the values.
        parameters: Parameters, each after those that it builds on.
        base: Values of the base host; a solution further than three spreads from them is ignored.
    """
    shown = {one.key: found for one in parameters if (found := _ways(twin.rows, one))}
    for _ in range(_ROUNDS):
        for parameter in parameters:
            if parameter.key in shown:
                far = _SPREADS * parameter.spread
                solved = [_solved(twin, parameter, *way) for way in shown[parameter.key]]
                # A row that hardly responds, or is disturbed, leads far away.
                near = [value for value in solved if value is not None and abs(value - base[parameter.key]) <= far]
                if near:
                    twin.keep({parameter.key: parameter.rounded(median(near))})


def contradictions(rows: Sequence[Row], parameters: Sequence[Parameter]) -> Iterator[str]:
    """Sentences on pairs of rows in an impossible order, for example a cold read faster than a warm one."""
    for way in dict.fromkeys(way for one in parameters for way in one.shown_by if way.less is not None):
        found = _numbers(rows, way)
        if found is None or found[1] is None:
            continue
        by_ns = _contradicted(rows, *found)
        if by_ns:
            slower, faster = rows[found[0]].label, rows[found[1]].label
            yield f"contradictory: {slower} is {by_ns:.0f} ns faster than {faster}, and should be slower"


def _ways(rows: Sequence[Row], parameter: Parameter) -> list[tuple[int, int | None]]:
    """Indices of the rows that show the parameter, for each way that was measured without contradiction."""
    found = [_numbers(rows, way) for way in parameter.shown_by]
    return [way for way in found if way is not None and not _contradicted(rows, *way)]


def _contradicted(rows: Sequence[Row], row: int, less: int | None) -> float:
    """By how many ns the row is faster than the one that should be faster, if by too many; else 0."""
    apart = _apart([rows[row], rows[less]]) if less is not None else None
    return -apart if apart is not None and apart < -_CONTRADICTED_NS else 0.0


def _numbers(rows: Sequence[Row], way: Shown) -> tuple[int, int | None] | None:
    row, less = _number(rows, way.row), _number(rows, way.less)
    if row is None or (way.less is not None and less is None):
        return None
    return row, less


def _number(rows: Sequence[Row], wanted: Select | None) -> int | None:
    if wanted is None:
        return None
    return next((number for number, row in enumerate(rows) if wanted.matches(row.name, row.test)), None)


def _solved(twin: Twin, parameter: Parameter, row: int, less: int | None) -> float | None:
    """The value at which prediction and measurement agree; None if the rows do not respond to the parameter."""
    numbers = [row] if less is None else [row, less]
    rows = [twin.rows[number] for number in numbers]
    value = float(twin.value(parameter.key))
    step = parameter.step if value + parameter.step <= parameter.high else -parameter.step
    variants = [{}, {parameter.key: parameter.rounded(value + step)}]
    before, after = (_apart(rows, predicted) for predicted in twin.predict(variants, [numbers] * 2))
    measured = _apart(rows)
    if before is None or after is None or measured is None or abs(after - before) < _FLAT_NS:
        return None
    return value + (measured - before) * step / (after - before)


def _apart(rows: Sequence[Row], predicted: Sequence[Predicted] | None = None) -> float | None:
    """The time of the first row, less that of the second one where there is one."""
    times = [
        transaction_ns(row) if predicted is None else predicted_ns(row, predicted[nth])
        for nth, row in enumerate(rows)
    ]
    if any(time is None for time in times):
        return None
    first, *rest = [time for time in times if time is not None]
    return first - sum(rest)
