"""Figures as files: PNG, SVG, PDF or a self-contained HTML page, made without a browser and without a network."""

from pathlib import Path
from typing import Any

import vl_convert

from pcielab.errors import InputError
from pcielab.outputs import write_file
from pcielab.report.figures.frame import Figure
from pcielab.report.html import Pictured, figures_page
from pcielab.report.specification import vega_lite
from pcielab.report.style import PAGE, Theme, configuration

FIGURE_FORMATS = ("png", "svg", "pdf", "html")
_PNG_SCALE = 2.0


def specification(figure: Figure, theme: Theme = "light") -> dict[str, Any]:
    """The figure as a Vega-Lite specification in a theme, with the theme's page as background."""
    spec = vega_lite(figure)
    spec["config"] = {**configuration(theme), "background": PAGE[theme]}
    spec["padding"] = 12
    return spec


def save_figure(figure: Figure, path: Path | str, *, theme: Theme = "light", overwrite: bool = True) -> None:
    """Write a figure to a file whose ending says the format.

    Args:
        figure: from `pcielab.report.figures`, or any Altair chart.
        path: ends in .png, .svg, .pdf or .html.
        theme: light for paper; a page follows the theme of its reader instead.
        overwrite: replace a file that exists.

    Raises:
        InputError: another ending, a file that exists, or one that cannot be written.
    """
    path = Path(path)
    kind = path.suffix.removeprefix(".").lower()
    if kind not in FIGURE_FORMATS:
        raise InputError(f"{path}: {path.suffix!r} is no figure format: give .png, .svg, .pdf or .html")
    spec = specification(figure, theme)
    content: bytes | str
    if kind == "png":
        content = vl_convert.vegalite_to_png(spec, scale=_PNG_SCALE)
    elif kind == "svg":
        content = vl_convert.vegalite_to_svg(spec)
    elif kind == "pdf":
        content = vl_convert.vegalite_to_pdf(spec)
    else:
        content = figures_page(path.stem, [], [Pictured(figure)])
    write_file(path, content.encode() if isinstance(content, str) else content, overwrite=overwrite)
