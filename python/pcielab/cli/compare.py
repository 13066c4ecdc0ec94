"""`pcielab compare`: two runs side by side."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab.cli.output import Cell, Format, FormatOption, OverwriteOption, is_stdout, print_rows, say
from pcielab.cli.stores import opened
from pcielab.errors import RunError, refusal
from pcielab.kinds.rooms import room_of
from pcielab.strict_json import known

if TYPE_CHECKING:
    from pcielab.analysis.compare import Comparison, Failure
    from pcielab.analysis.validate import Judged
    from pcielab.kinds.rooms import Compare, Row

_SHOWN_DIFFERENCES = 4
_SHOWN_FAILURES = 10
_ERROR = "standard error"
_EXPECTED = "expected (90 %)"


def compare(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="The store to compare with.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="The store to compare; differences are B - A.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="HTML", help="Also draw both into one HTML file.")
    ] = None,
    output_format: FormatOption = Format.TABLE,
    summary: Annotated[
        bool,
        typer.Option(
            "--summary", help="Print only the summary: the size of the differences of each kind of test."
        ),
    ] = False,
    fail_above: Annotated[
        str | None,
        typer.Option(
            "--fail-above",
            metavar="N%",
            help="Exit with 1 if a bandwidth or latency differs by more than N % of A's, or B lacks a test of A.",
        ),
    ] = None,
    worse_only: Annotated[
        bool,
        typer.Option(
            "--worse-only", help="With --fail-above: a lower bandwidth and a higher latency fail, gains do not."
        ),
    ] = False,
    overwrite: OverwriteOption = False,
) -> None:
    """Compare two runs side by side: bandwidths in %, latencies in ns. A table ends with a summary.

    If B is simulated on a calibrated system and A is measured, or the other way round, the table says where the
    measured value is expected (90 %), and whether it is there: an error inside is one that twins have.

    Differences of measured medians have a standard error, and are "not resolvable" below two of them.

    --fail-above makes it a regression gate: it fails if a median, average or bandwidth differs by more, in either
    direction, and lists the worst rows on stderr. With --worse-only, it fails on losses alone.

    Examples:
    `pcielab compare measured.db simulated.db`

    `pcielab compare baseline.db new.db --fail-above 2%`

    `pcielab compare baseline.db new.db --fail-above 2% --worse-only`

    `pcielab compare baseline.db new.db --fail-above 0.5% --format csv`
    """
    from pcielab.analysis.compare import compare as compare_stores, parse_limit
    from pcielab.outputs import check_page, write_file

    limit = parse_limit(fail_above, "--fail-above") if fail_above is not None else None
    if worse_only and limit is None:
        raise refusal("missing", "--worse-only: tells what fails: give --fail-above N% as well")
    if output is not None:
        check_page(output, overwrite=overwrite)
    comparison = compare_stores(opened(run_a), opened(run_b))
    if comparison.alone_a or comparison.alone_b:
        say(f"unpaired: {comparison.alone_a} tests of A, {comparison.alone_b} of B")
    if output is not None:
        from pcielab.report.comparison import draw

        write_file(output, draw(comparison).encode(), overwrite=overwrite)
    if not is_stdout(output):
        _print(comparison, output_format, summary=summary)
    if limit is not None:
        _check(comparison, limit, worse_only=worse_only)


def _print(comparison: "Comparison", output_format: Format, *, summary: bool) -> None:
    title = _title(comparison)
    if not summary:
        table = output_format is Format.TABLE
        rows = _side_by_side(comparison) if table else _with_intervals(comparison)
        print_rows(rows, output_format, title=title)
    if summary and not comparison.tells_speed:
        print_rows([], output_format, title=title)
    elif comparison.tells_speed and (summary or output_format is Format.TABLE):
        print_rows(_summary(comparison, output_format), output_format, title=f"{title}\nSize of the differences")


def _cells(rows: Iterable["Row"]) -> list[dict[str, Cell]]:
    """Rows as plain values; missing ones are None."""
    return [{column: _or_none(value) for column, value in row.items()} for row in rows]


def _check(comparison: "Comparison", limit: float, *, worse_only: bool) -> None:
    """Raise RunError if the runs differ by more than a limit, in percent."""
    from pcielab.analysis.compare import failures

    found = failures(comparison, limit, worse_only=worse_only)
    if not found:
        say(f"no {'loss' if worse_only else 'difference'} above {limit:g} % in {len(comparison.pairs)} pairs")
        return
    missing = sum(one.metric is None for one in found)
    verb = "are worse" if worse_only else "differ"
    apart = len({id(one.row) for one in found if one.metric is not None})
    counts = [f"{apart} of {len(comparison.pairs)} pairs {verb} by more than {limit:g} %"] if apart else []
    counts += [f"B lacks {missing} of A's tests"] if missing else []
    asked = room_of(comparison.a).compare.asked
    listed = [f"\n  {_described(one, asked(one.row))}" for one in found[:_SHOWN_FAILURES]]
    more = f"\n  and {len(found) - len(listed)} more" if len(found) > len(listed) else ""
    raise RunError(f"{', '.join(counts)}:{''.join(listed)}{more}")


def _described(failure: "Failure", named: dict[str, Cell]) -> str:
    asked = [f"{key} {value}" for key, value in named.items() if value is not None and value == value]
    test = ", ".join([str(failure.row["name"]), *asked])
    if failure.metric is None:
        return f"{test}: missing in B"
    values = [f"{value:.6g}" if value is not None else "none" for value in (failure.a, failure.b)]
    unit = {"gbps": "Gb/s"}.get(failure.unit, failure.unit)
    by = f" ({_change(failure):+.2f} %)" if failure.difference_percent < float("inf") else ""
    return f"{test}: {failure.metric} {values[0]} to {values[1]} {unit}{by}"


def _change(failure: "Failure") -> float:
    fell = (failure.b or 0.0) < (failure.a or 0.0)
    return -failure.difference_percent if fell else failure.difference_percent


def _intervals(comparison: "Comparison") -> dict[int, dict[str, "Judged"]]:
    """The metrics of each pair that have an interval, by the identity of the pair."""
    if not _of_a_twin(comparison):
        return {}
    from pcielab.analysis.validate import judge

    found: dict[int, dict[str, Judged]] = {}
    for one in judge(comparison):
        found.setdefault(id(one.row), {})[one.metric] = one
    return found


def _of_a_twin(comparison: "Comparison") -> bool:
    """Whether intervals are to be looked for, which takes time."""
    stores = (comparison.a, comparison.b)
    calibrated = any((store.manifest.get("system") or {}).get("calibrated") for store in stores)
    return calibrated and {store.origin for store in stores} == {"measured", "simulated"}


def _with_intervals(comparison: "Comparison") -> list[dict[str, Cell]]:
    """Rows as plain values, with the interval of each metric that a twin predicts."""
    intervals, cells = _intervals(comparison), _cells(comparison.pairs)
    if not intervals:
        return cells
    for row, shown in zip(comparison.pairs, cells, strict=True):
        judged = intervals.get(id(row), {})
        for metric, unit in (("bandwidth", "gbps"), ("median", "ns"), ("average", "ns")):
            one = judged.get(metric)
            shown[f"{metric}_expected_low_{unit}"] = one.interval.low if one else None
            shown[f"{metric}_expected_high_{unit}"] = one.interval.high if one else None
            shown[f"{metric}_as_expected"] = one.inside if one else None
    return cells


def _title(comparison: "Comparison") -> str:
    from pcielab.store.exercised import NOTICE

    first, second = comparison.names
    apart = comparison.all_differences
    lines = [] if comparison.tells_speed else [NOTICE]
    lines += [f"A: {first}", f"B: {second}"]
    sides = {"A": comparison.a, "B": comparison.b} if comparison.tells_speed else {}
    lines += [
        f"A latency of {side} includes: {parts}" for side, run in sides.items() if (parts := run.latency_includes)
    ]
    if apart:
        named = ", ".join(str(one) for one in apart[:_SHOWN_DIFFERENCES])
        more = f" and {len(apart) - _SHOWN_DIFFERENCES} more" if len(apart) > _SHOWN_DIFFERENCES else ""
        lines.append(f"The {room_of(comparison.a).compare.machines} differ in {named}{more}")
    return "\n".join(lines)


def _summary(comparison: "Comparison", output_format: Format) -> list[dict[str, Cell]]:
    rows = _cells(comparison.summaries())
    if output_format is not Format.TABLE:
        return rows
    shown = ("name", "metric", "unit", "rows", "median", "mean", "p95", "maximum")
    return [{column: row[column] for column in shown} for row in rows]


def _side_by_side(comparison: "Comparison") -> list[dict[str, Cell]]:
    """Rows that fit a terminal: each test's bandwidth (Gb/s) or median latency (ns)."""
    intervals, of = _intervals(comparison), room_of(comparison.a).compare
    line = of.line or (lambda row: _narrow(row, of, tells_speed=comparison.tells_speed))
    rows = [{**line(row), _EXPECTED: _expected(row, of.metric(row), intervals)} for row in comparison.pairs]
    optional = (_ERROR, _EXPECTED, *of.optional)
    empty = {column for column in optional if all(row.get(column) is None for row in rows)}
    return [{column: cell for column, cell in row.items() if column not in empty} for row in rows]


def _expected(row: Any, metric: str, intervals: dict[int, dict[str, "Judged"]]) -> str | None:
    """Where the measured value that is shown is expected, given the twin's prediction, and whether it is there."""
    one = intervals.get(id(row), {}).get(metric) if intervals else None
    if one is None:
        return None
    return f"{one.interval.low:.4g} to {one.interval.high:.4g}: {'yes' if one.inside else 'NO'}"


def _narrow(row: Any, of: "Compare", *, tells_speed: bool) -> dict[str, Cell]:
    metric = of.metric(row)
    latency = metric != "bandwidth"
    unit, apart = ("ns", "ns") if latency else ("gbps", "percent")
    test: dict[str, Cell] = {"test": row["name"], **of.asked(row)}
    if not tells_speed:
        return test
    return {
        **test,
        "A": row[f"{metric}_a_{unit}"],
        "B": row[f"{metric}_b_{unit}"],
        **_difference(row, f"{metric}_difference_{apart}", "ns" if latency else "%"),
    }


def _difference(row: Any, column: str, unit: str) -> dict[str, Cell]:
    """A difference and, of two measured medians, its standard error."""
    from pcielab.kinds.transfers.compare import is_resolvable

    difference, error = row[column], row.get("median_standard_error_ns", float("nan"))
    if known(difference) is None:
        return {"B - A": None, _ERROR: None}
    text = f"{difference:+.2f} {unit}"
    if unit != "ns" or error != error:
        return {"B - A": text, _ERROR: None}
    shown = text if is_resolvable(difference, error) else f"{text}, not resolvable"
    return {"B - A": shown, _ERROR: f"{error:.2f} ns"}


def _or_none(value: Any) -> Any:
    return value if value == value else None
