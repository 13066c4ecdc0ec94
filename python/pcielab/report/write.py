"""Write a report: the page and, on request, each figure as a file."""

from collections.abc import Sequence
from pathlib import Path

from pcielab.argument_types import refuses_wrong_types
from pcielab.charts.run import everyone
from pcielab.charts.style import Theme
from pcielab.errors import refusal
from pcielab.outputs import check_file, check_page, write_file
from pcielab.report.catalogue import Drawn, draw_all
from pcielab.report.page import render
from pcielab.report.save import save_figure
from pcielab.store import Store


@refuses_wrong_types
def write_report(
    stores: Sequence[Store],
    output: Path | str,
    *,
    measured: Store | None = None,
    figures: Path | str | None = None,
    figure_format: str = "svg",
    theme: Theme = "light",
    overwrite: bool = False,
) -> list[Path]:
    """Write the report of one or several runs as one HTML file that needs no network.

    Args:
        stores: The runs, in the order of the legends.
        output: The HTML file.
        measured: A run drawn as points over the others.
        figures: A folder for every figure as a file; created if missing.
        figure_format: png, svg or pdf.
        theme: Theme of those files; the page follows its reader's.
        overwrite: Whether to replace existing files.

    Returns:
        The files written, the page first.

    Raises:
        InputError: A file exists or cannot be written, the page has the ending of a picture, or `measured` is of
            another kind than the runs; then nothing is written.
    """
    if measured is not None and not any(store.is_of(measured.kind) for store in stores):
        measured.require_kind(stores[0].kind, f"drawing over {stores[0].path}")
    output = Path(output)
    check_page(output, overwrite=overwrite)
    runs = everyone(list(stores), measured)
    timed = [run for run in runs if run.store.tells_speed]
    lines = [run for run in timed if not run.measured_overlay]
    overlay = next((run for run in timed if run.measured_overlay), None)
    drawn, left_out = draw_all(lines, overlay)
    pictures = _picture_paths(drawn, Path(figures), figure_format, overwrite=overwrite) if figures else []
    page = render(runs, drawn, left_out)
    for one, path in zip(drawn, pictures, strict=bool(figures)):
        save_figure(one.figure, path, theme=theme, overwrite=overwrite)
    write_file(output, page.encode(), overwrite=overwrite)
    return [output, *pictures]


def _picture_paths(drawn: Sequence[Drawn], folder: Path, figure_format: str, *, overwrite: bool) -> list[Path]:
    """The files of the figures, all checked before the first is written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refusal(
            "not-allowed", f"{folder}: cannot create the folder for figures: {error.strerror}"
        ) from error
    paths = [folder / f"{one.entry.name}.{figure_format}" for one in drawn]
    for path in paths:
        check_file(path, overwrite=overwrite)
    return paths
