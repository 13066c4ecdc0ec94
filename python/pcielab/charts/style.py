"""The look of pictures: a Vega configuration for light pages and paper, and one for dark pages.

Figures name roles, never colours: the styles `reference` (bounds and line rates) and `halo` (around text over
lines), and the ranges `category`, `ordinal` and `diverging`. So a page changes its theme by changing the
configuration. Colours of runs are Okabe and Ito's, distinct for all kinds of colour vision
(jfly.uni-koeln.de/color).
"""

from typing import Any, Literal

Theme = Literal["light", "dark"]

FONT = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"

_CATEGORIES = {
    "light": ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#6a3d9a", "#444444"],
    "dark": ["#56b4e9", "#ff8c42", "#2ec4a0", "#e79ac6", "#f0c14b", "#9bd0f5", "#b79ae0", "#cccccc"],
}
# Sizes grow from light to dark ink; on a dark page from dark to light.
_ORDINALS = {
    "light": ["#8fc1e3", "#4a9ad0", "#1b6fae", "#7a4fa3", "#b03a7c", "#d1495b", "#7f1d1d"],
    "dark": ["#3d7ea6", "#5aa9d6", "#8ecdf0", "#b79ae0", "#e79ac6", "#ff9aa2", "#ffd6a5"],
}
BOUND_COLOURS = {
    "wire-upstream": "#7b8fa1",
    "wire-downstream": "#4f6475",
    "device-port": "#b8a06a",
    "root-port": "#8c7a3d",
    "replay-buffer": "#6d6f9c",
    "tags": "#c2557a",
    "latency": "#8e3b6b",
    "device-rate": "#e0863a",
    "receive-buffers": "#a8541f",
    "completion-buffer": "#d9a08b",
    "request-rate": "#5b8c5a",
    "write-rate": "#9cb86f",
    "posted-credits": "#5aa5a5",
    "non-posted-credits": "#2f7272",
    "page-walks": "#7d6bb5",
    "translation": "#9a86d4",
    "write-pool": "#3f8f8f",
    "read-pool": "#1f5f5f",
    "memory": "#b0485a",
    "descriptors-held": "#6f7f2a",
    "ring": "#a0a03c",
    "transmit-fifo": "#2f6f9f",
    "receive-fifo": "#6fa8d0",
    "batch": "#c08a2e",
    "moderation": "#7a5a2e",
}
"""Colours of bounds, the same everywhere: none is a run's, and all show on light and dark pages."""

PAGE = {"light": "#ffffff", "dark": "#12161c"}
"""Background of pictures."""
_DIVERGING = {"light": ["#b2182b", "#e9ecf0", "#2166ac"], "dark": ["#ff7b72", "#2a313c", "#62b0ff"]}
_INK = {"light": "#1f2933", "dark": "#e6e9ee"}
_FAINT_INK = {"light": "#5f6b7a", "dark": "#9aa5b4"}
_GRID = {"light": "#e4e8ee", "dark": "#2e3642"}
_REFERENCE = {"light": "#6b7683", "dark": "#aab4c0"}


def configuration(theme: Theme) -> dict[str, Any]:
    """The Vega-Lite configuration of a theme, with a transparent background."""
    ink, faint, grid, reference = (table[theme] for table in (_INK, _FAINT_INK, _GRID, _REFERENCE))
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": grid, "continuousWidth": 420, "continuousHeight": 260},
        "range": {
            "category": _CATEGORIES[theme],
            "ordinal": _ORDINALS[theme],
            "diverging": _DIVERGING[theme],
        },
        "axis": {
            "domainColor": faint,
            "gridColor": grid,
            "labelColor": ink,
            "labelFontSize": 11,
            "labelOverlap": "greedy",
            "tickColor": faint,
            "titleColor": ink,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
        },
        "axisXQuantitative": {"labelSeparation": 4},
        "legend": {
            "labelColor": ink,
            "labelFontSize": 11,
            "labelLimit": 900,
            "titleLimit": 900,
            "orient": "bottom",
            "direction": "vertical",
            "symbolBaseFillColor": faint,
            "symbolBaseStrokeColor": faint,
            "symbolSize": 70,
            "titleColor": faint,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
        },
        "header": {"labelColor": ink, "labelFontSize": 12, "labelFontWeight": "bold", "titleColor": ink},
        "title": {
            "anchor": "start",
            "color": ink,
            "fontSize": 15,
            "fontWeight": 600,
            "offset": 14,
            "subtitleColor": faint,
            "subtitleFontSize": 12,
            "subtitlePadding": 4,
        },
        "line": {"strokeWidth": 1.8},
        "text": {"color": ink},
        "point": {"size": 34},
        "style": {
            "reference": {"color": reference, "stroke": reference, "strokeWidth": 1.4},
            "halo": {"stroke": PAGE[theme], "strokeWidth": 5},
            "zero": {"color": reference, "stroke": reference, "strokeWidth": 1},
        },
    }
