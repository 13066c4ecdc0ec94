"""Figures as files: PNG, SVG, PDF or a self-contained HTML page, without a browser or network."""

from pathlib import Path
from typing import Any

from pcielab.argument_types import refuses_wrong_types
from pcielab.charts.frame import Figure
from pcielab.charts.style import PAGE, Theme, configuration
from pcielab.errors import refusal
from pcielab.outputs import write_file
from pcielab.report.drawing import drawing_engine, vega_lite
from pcielab.report.html import Pictured, figures_page

FIGURE_FORMATS = ("png", "svg", "pdf", "html")
_PNG_SCALE = 2.0


def specification(figure: Figure, theme: Theme = "light") -> dict[str, Any]:
    """The figure as a Vega-Lite specification in a theme, on the theme's page colour."""
    spec = vega_lite(figure)
    spec["config"] = {**configuration(theme), "background": PAGE[theme]}
    spec["padding"] = 12
    return spec


@refuses_wrong_types
def save_figure(figure: Figure, path: Path | str, *, theme: Theme = "light", overwrite: bool = True) -> None:
    """Write a figure to a file in the format of its ending.

    Args:
        figure: From `pcielab.report.figures`, or any Altair chart.
        path: Ends in .png, .svg, .pdf or .html.
        theme: Light or dark; a page follows its reader's theme instead.
        overwrite: Whether to replace an existing file.

    Raises:
        InputError: Another ending, an existing file, or one that cannot be written.
    """
    path = Path(path)
    kind = path.suffix.removeprefix(".").lower()
    if kind not in FIGURE_FORMATS:
        raise refusal(
            "unsupported", f"{path}: {path.suffix!r} is no figure format: give .png, .svg, .pdf or .html"
        )
    spec = specification(figure, theme)
    content: bytes | str
    if kind == "png":
        content = drawing_engine().vegalite_to_png(spec, scale=_PNG_SCALE)
    elif kind == "svg":
        content = drawing_engine().vegalite_to_svg(spec)
    elif kind == "pdf":
        content = drawing_engine().vegalite_to_pdf(spec)
    else:
        content = figures_page(path.stem, [], [Pictured(figure)])
    write_file(path, content.encode() if isinstance(content, str) else content, overwrite=overwrite)
