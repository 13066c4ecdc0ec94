"""References of bandwidth: the binding bound, the bound of the link alone, and Ethernet's demand."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import altair as alt
import pandas as pd

from pcielab import model
from pcielab.charts.axes import POSITION, SizeAxis
from pcielab.charts.frame import tooltips
from pcielab.charts.run import MODELLED, Run
from pcielab.charts.series import DASH_LEGEND
from pcielab.charts.style import BOUND_COLOURS
from pcielab.kinds.transfers.link_bounds import (
    bounds_of_rows,
    ethernet_need,
    ethernet_rates,
    link_bounds,
    link_of,
    link_text,
)
from pcielab.model.link import Accounting

# Steps of a double word: the padding of sizes between them would draw a finer saw-tooth.
_LINE_STEP_BYTES = 4
# For longer transfers, partly filled TLPs do not show.
_SAW_TOOTH_BYTES = 4096
# Devices that move whole words of 8 bytes are slower at other sizes: all of them would draw a comb.
_WORD_BYTES = 8
_LINE_BYTES = 64
"""One byte more than a multiple of it may need a further TLP: the bound drops there."""
_BESIDE_A_PEAK = 1e-4
"""Distance of a drop from its peak: points of a line are drawn in order of their positions."""
_DASHES = ([1, 0], [7, 3], [3, 2, 1, 2], [1, 2])
_ETHERNET_DASHES = ([2, 3], [1, 5])
_RIBBON_HEIGHT = 7
_MOST_RIBBONS = 3


def reference_rows(
    runs: Sequence[Run], sweeps: pd.DataFrame, accounting: Accounting = Accounting.SPEC
) -> pd.DataFrame:
    """Rows of role `reference` over the sizes of the sweeps, and of role `ribbon` with the binding bound.

    A run with a profile has the binding bound of its system; the sweeps' rows have parameters of tests, and `run`.
    """
    axis = SizeAxis.of(sweeps["size_bytes"])
    sizes, operations = _sizes(sweeps["size_bytes"]), list(sweeps["operation"].unique())
    binding = [rows for run in runs for rows in _system_bounds(run, sweeps[sweeps["run"] == run.entry], sizes)]
    parts = list(binding)
    links = list(dict.fromkeys(link for run in runs if (link := link_of(run)) is not None))
    for link in links:
        bounds = link_bounds(link, sizes, accounting)
        bounds = bounds[bounds["operation"].isin(operations)]
        parts.append(bounds.assign(reference=_link_entry(link, accounting)))
    for rate in ethernet_rates(links):
        need = ethernet_need(sizes, rate).assign(reference=f"needed by {rate}G Ethernet · {MODELLED}")
        parts += [need.assign(operation=operation) for operation in operations]
    empty = pd.DataFrame({"size_bytes": [], "reference": []})
    lines = axis.positioned(pd.concat([empty, *parts]).assign(role="reference"))
    tested = lines[lines["size_bytes"].isin(set(sweeps["size_bytes"]))]
    return pd.concat([lines, *_ribbons(tested, [run.entry for run in runs])])


def drops(references: pd.DataFrame) -> pd.DataFrame:
    """The feet of the teeth: after each peak, the bound of one byte more at the peak's position.

    A line through the sizes alone would slope from a peak to the next size, and lie above the bound between them.
    """
    lines = references[references["role"] == "reference"]
    if lines.empty:
        return lines
    feet = []
    for _, rows in lines.groupby(["reference", "operation"], sort=False):
        before = rows.shift(1)
        apart = rows["size_bytes"] - before["size_bytes"]
        falls = (rows["bandwidth"] < before["bandwidth"]) & (apart <= _LINE_STEP_BYTES)
        feet.append(rows[falls].assign(**{POSITION: before[POSITION][falls] + _BESIDE_A_PEAK}))
    return pd.concat(feet)


def _link_entry(link: model.Link, accounting: Accounting) -> str:
    """Name of the line; the paper's accounting is an estimate, which measurements exceed, not a bound."""
    of = "bound of the link alone" if accounting is Accounting.SPEC else "the paper's model"
    return f"{of}, {link_text(link)} · {MODELLED}"


def reference_layers(x: alt.X, y: alt.Y, rows: pd.DataFrame, *, height: int) -> Iterator[alt.Chart]:
    """The grey lines, each with its dash, and the ribbon at the foot of a panel of this height."""
    names = list(rows.loc[rows["role"] == "reference", "reference"].unique())
    if not names:
        return
    dash = alt.StrokeDash(
        "reference:N",
        title="reference",
        scale=alt.Scale(domain=names, range=list(_dashes(names))),
        legend=DASH_LEGEND,
    )
    tooltip = [alt.Tooltip("reference:N"), *tooltips("size_bytes", "bandwidth", "binds")]
    lines = alt.Chart().transform_filter("datum.role === 'reference'").mark_line(style="reference")
    yield lines.encode(x=x, y=y, strokeDash=dash, tooltip=tooltip)
    ribbons = rows[rows["role"] == "ribbon"]
    present = [name for name in BOUND_COLOURS if name in set(ribbons.get("binds", ()))]
    for nth in sorted(set(ribbons.get("nth", ()))):
        yield _ribbon(x, present, int(nth), height - _RIBBON_HEIGHT * (int(nth) + 1))


def _system_bounds(run: Run, drawn: pd.DataFrame, sizes: Sequence[int]) -> Iterator[pd.DataFrame]:
    """The binding bounds of a run's system over sizes, for tests like those of its sweeps."""
    for operation, rows in drawn.groupby("operation", sort=False):
        like = rows.to_dict("records")[0]
        tested = {int(size) for size in rows["size_bytes"]}
        within = [size for size in sizes if size in tested or _shows(size, min(tested), max(tested))]
        tests = [{**like, "size_bytes": size} for size in within]
        found = [
            {"size_bytes": size, "bandwidth": bounds.answer.gbps, "binds": bounds.answer.bound}
            for size, bounds in zip(within, bounds_of_rows(run, tests), strict=True)
            if bounds is not None
        ]
        if found:
            name = f"binding bound on {run.label} · {MODELLED}"
            yield pd.DataFrame(found).assign(operation=str(operation), reference=name, of=run.entry)


def _shows(size: int, least: int, most: int) -> bool:
    """Whether the bound of a system is drawn at an untested size: at whole words, and at feet of teeth."""
    return least <= size <= most and (size % _WORD_BYTES == 0 or size % _LINE_BYTES == 1)


def _ribbons(lines: pd.DataFrame, entries: Sequence[str]) -> Iterator[pd.DataFrame]:
    """For each run and operation, a piece around each tested size, half way to its neighbours."""
    if "of" not in lines:
        return
    shown = [entry for entry in entries if entry in set(lines["of"])][:_MOST_RIBBONS]
    for (entry, _), rows in lines[lines["of"].isin(shown)].groupby(["of", "operation"], sort=False):
        middles = rows[POSITION].rolling(2).mean()
        begins = middles.fillna(rows[POSITION])
        ends = middles.shift(-1).fillna(rows[POSITION])
        pieces = rows[["size_bytes", "operation", "binds", "of"]]
        yield pieces.assign(**{POSITION: begins}, to_position=ends, nth=shown.index(str(entry)), role="ribbon")


def _ribbon(x: alt.X, present: Sequence[str], nth: int, top: int) -> alt.Chart:
    """A strip in the colours of the binding bounds."""
    fill = alt.Fill(
        "binds:N",
        title=f"ribbon: binding bound · {MODELLED}",
        scale=alt.Scale(domain=list(present), range=[BOUND_COLOURS[name] for name in present]),
        legend=alt.Legend(symbolType="square", symbolStrokeWidth=0),
    )
    tooltip = [alt.Tooltip("of:N", title="run"), *tooltips("binds", "size_bytes")]
    pieces = alt.Chart().transform_filter(f"datum.role === 'ribbon' && datum.nth === {nth}").mark_rect()
    strip: alt.Chart = pieces.encode(
        x=x,
        x2="to_position:Q",
        y=alt.value(top),
        y2=alt.value(top + _RIBBON_HEIGHT - 1),
        fill=fill,
        tooltip=tooltip,
    )
    return strip


def _sizes(present: Iterable[Any]) -> list[int]:
    """Sizes of the lines: the tested ones, and of short transfers every double word and every foot of a tooth."""
    sizes = {int(size) for size in present}
    first, last = min(sizes), min(max(sizes), _SAW_TOOTH_BYTES)
    double_words = range(-(-first // _LINE_STEP_BYTES) * _LINE_STEP_BYTES, last + 1, _LINE_STEP_BYTES)
    feet = range(first // _LINE_BYTES * _LINE_BYTES + 1, last + 1, _LINE_BYTES)
    return sorted(sizes | {*double_words, *(foot for foot in feet if foot >= first)})


def _dashes(names: Sequence[str]) -> Iterator[list[int]]:
    plain, ethernet = 0, 0
    for name in names:
        if name.startswith("needed"):
            yield list(_ETHERNET_DASHES[ethernet % len(_ETHERNET_DASHES)])
            ethernet += 1
        else:
            yield list(_DASHES[plain % len(_DASHES)])
            plain += 1
