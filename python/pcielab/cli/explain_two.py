"""`pcielab explain RUN RUN_B`: the values in which two systems differ, and their effect on each test."""

from collections.abc import Iterator
from pathlib import Path

from pcielab.analysis.explain.contrast import Contrast, Moved, contrast
from pcielab.cli.output import Cell, Format, Theme, print_rows, say
from pcielab.cli.progress import Bar
from pcielab.cli.stores import opened
from pcielab.outputs import check_file
from pcielab.report.figures.contrast import draw_contrast
from pcielab.report.save import save_figure

_SHOWN_MOVERS = 3
_LEAST_SHOWN_PERCENT = 0.3


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
    """Print the values in which two systems differ, and the effect of each on every test."""
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
        save_figure(draw_contrast(found, *names), picture, theme=theme.value, overwrite=overwrite)
    title = f"A: {names[0]}\nB: {names[1]}\nSimulated with one change at a time"
    if output_format is Format.TABLE:
        changes: list[dict[str, Cell]] = [
            {"key": one.key, "A": str(one.a), "B": str(one.b)} for change in found.changes for one in change
        ]
        print_rows(changes, output_format, "Values in which the systems differ")
        print_rows([_mover_row(found, row) for row in found.rows], output_format, title)
    else:
        print_rows([cells for row in found.rows for cells in _mover_cells(found, row)], output_format, title)


def _mover_row(found: "Contrast", row: "Moved") -> dict[str, Cell]:
    effects = sorted(zip(found.changes, row.effects_percent, strict=True), key=lambda one: -abs(one[1]))
    shown = [
        f"{' with '.join(one.key for one in change)} {effect:+.1f} %"
        for change, effect in effects[:_SHOWN_MOVERS]
        if abs(effect) >= _LEAST_SHOWN_PERCENT
    ]
    return {
        "test": row.test,
        "name": row.name,
        "size": row.parameters["size_bytes"],
        "window": row.parameters["window_bytes"],
        "cache": row.parameters["cache"],
        "A": row.a,
        "B": row.b,
        "unit": row.unit,
        "B/A": f"{row.change_percent:+.1f} %",
        "moved by": "; ".join(shown) or "nothing by itself",
        "together": f"{row.rest_percent:+.1f} %",
    }


def _mover_cells(found: "Contrast", row: "Moved") -> Iterator[dict[str, Cell]]:
    for change, effect in zip(found.changes, row.effects_percent, strict=True):
        yield {
            "test": row.test,
            "name": row.name,
            "size_bytes": row.parameters["size_bytes"],
            "window_bytes": row.parameters["window_bytes"],
            "cache": row.parameters["cache"],
            "unit": row.unit,
            "a": row.a,
            "b": row.b,
            "change_percent": row.change_percent,
            "key": " ".join(one.key for one in change),
            "from": " ".join(str(one.a) for one in change),
            "to": " ".join(str(one.b) for one in change),
            "effect_percent": effect,
            "rest_percent": row.rest_percent,
        }
