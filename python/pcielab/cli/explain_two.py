"""`pcielab explain RUN RUN_B`: what changes from one run to the other, and which difference changes it."""

from collections.abc import Iterator
from pathlib import Path

from pcielab.analysis.explain.contrast import contrast
from pcielab.analysis.explain.moved import NOTICED_PERCENT, Contrast, Moved
from pcielab.analysis.explain.sentences import sentences
from pcielab.cli.output import Cell, Format, Theme, print_rows, print_text, say
from pcielab.cli.progress import Bar
from pcielab.cli.stores import opened
from pcielab.errors import refusal
from pcielab.kinds.rooms import room
from pcielab.outputs import check_file

_SHOWN_MOVERS = 3
_LEAST_SHOWN_PERCENT = 0.3
_MOST_DIFFERENCES = 20


def explain_two(
    first: Path,
    second: Path,
    tests: list[str],
    picture: Path | None,
    output_format: Format,
    *,
    theme: Theme,
    overwrite: bool,
) -> None:
    """Print one sentence, the values in which two machines differ, and the tests that change."""
    if picture is not None:
        check_file(picture, overwrite=overwrite)
    a, b = opened(first), opened(second)
    with Bar() as bar:
        found = contrast(
            a, b, tests, lambda done, total: bar.update(done, total, "simulating one change at a time")
        )
    for note in found.notes:
        say(note)
    names = (f"{a.title}, {first.name}", f"{b.title}, {second.name}")
    if picture is not None:
        _draw(found, names, picture, theme, overwrite=overwrite)
    is_table = output_format is Format.TABLE
    for sentence in sentences(found):
        (print_text if is_table else say)(f"{sentence}.")
    if not is_table:
        print_rows([cells for row in found.rows for cells in _mover_cells(found, row)], output_format)
        return
    _print_differences(found)
    _print_moved(found, names)


def _draw(found: Contrast, names: tuple[str, str], picture: Path, theme: Theme, *, overwrite: bool) -> None:
    from pcielab.charts.selection import MissingDataError
    from pcielab.report.figures.contrast import draw_both
    from pcielab.report.save import save_figure

    try:
        figure = draw_both(found, *names)
    except MissingDataError as missing:
        raise refusal("missing", f"-o {picture}: needs {missing}: leave -o out") from None
    save_figure(figure, picture, theme=theme.value, overwrite=overwrite)


def _print_differences(found: Contrast) -> None:
    apart = [one for change in found.changes for one in change]
    rows: list[dict[str, Cell]] = [
        {"key": one.key, "A": _shown(one.a), "B": _shown(one.b)} for one in apart[:_MOST_DIFFERENCES]
    ]
    more = f" (the first {_MOST_DIFFERENCES} of {len(apart)})" if len(apart) > _MOST_DIFFERENCES else ""
    if rows:
        print_rows(rows, Format.TABLE, f"Values in which the systems differ{more}")


def _shown(value: object) -> str:
    return f"({len(value)} values)" if isinstance(value, list) else "none" if value is None else str(value)


def _print_moved(found: Contrast, names: tuple[str, str]) -> None:
    moved = found.moved
    if moved:
        how = "Simulated with one change at a time" if found.simulated else "Values of the runs as they are"
        title = f"A: {names[0]}\nB: {names[1]}\n{how}"
        print_rows([_mover_row(found, row) for row in moved], Format.TABLE, title)
    left_out = len(found.rows) - len(moved)
    if left_out and moved:
        say(f"{left_out} of {len(found.rows)} rows change by less than {NOTICED_PERCENT:g} %: left out")


def _mover_row(found: Contrast, row: Moved) -> dict[str, Cell]:
    asked = {key.removesuffix("_bytes"): row.parameters.get(key) for key in room(found.kind).explain.told}
    always: dict[str, Cell] = {
        "test": row.test,
        "name": row.name,
        **asked,
        "A": row.a,
        "B": row.b,
        "unit": row.unit,
        "B/A": f"{row.change_percent:+.1f} %",
        "bound_A": row.bounds[0],
        "bound_B": row.bounds[1],
    }
    if not found.simulated:
        return always
    effects = sorted(zip(found.changes, row.effects_percent, strict=True), key=lambda one: -abs(one[1]))
    shown = [
        f"{' with '.join(one.key for one in change)} {effect:+.1f} %"
        for change, effect in effects[:_SHOWN_MOVERS]
        if abs(effect) >= _LEAST_SHOWN_PERCENT
    ]
    return {
        **always,
        "moved by": "; ".join(shown) or "nothing by itself",
        "together": f"{row.rest_percent:+.1f} %",
    }


def _mover_cells(found: Contrast, row: Moved) -> Iterator[dict[str, Cell]]:
    """A row for each change; one without a change where the differences are not known."""
    for change, effect in zip(found.changes or [()], row.effects_percent or (None,), strict=True):
        yield {
            "test": row.test,
            "name": row.name,
            **{key: row.parameters.get(key) for key in room(found.kind).explain.told},
            "unit": row.unit,
            "a": row.a,
            "b": row.b,
            "change_percent": row.change_percent,
            "key": "; ".join(one.key for one in change) or None,
            "from": "; ".join(str(one.a) for one in change) or None,
            "to": "; ".join(str(one.b) for one in change) or None,
            "effect_percent": effect,
            "rest_percent": row.rest_percent if found.simulated else None,
            "bound_a": row.bounds[0],
            "bound_b": row.bounds[1],
            "simulated_again": found.simulated,
        }
