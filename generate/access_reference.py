"""The page of published loads and stores beside their predictions (`docs/reference/loads-and-stores.md`)."""

from pcielab.analysis.normal.published import Prediction, median_spread, predictions
from pcielab.kinds.question import digits

_PAGE = """\
# Published loads and stores

<!-- Written by `make generate`: change profiles/cores, profiles/bars and profiles/published/accesses.csv. -->

Rates and times over PCIe that others published about loads, stores and doorbells of a core, of medium or high
confidence, beside what `pcielab model mmio` computes. Left out are counts of buffers, links that are not PCIe, and
accesses through a driver's call, two NICs and a network. No value of a row enters its prediction: a profile of
the core follows from the processor's name, or from the generation of the link where no source names it; a profile
of the BAR from the device's name. The profiles themselves rest on these sources: `pcielab profiles show NAME` says
which value on which.

{holding} of {count} predictions are within 15 % or inside their interval; {near} are within 15 %. The median
interval has an upper end {spread:.2f} times its lower.

| row | published | unit | bytes | instruction | core | BAR | modelled | interval | error | holds |
|---|---|---|---|---|---|---|---|---|---|---|
{rows}

## Sources

{sources}
"""


def markdown() -> str:
    """The whole page."""
    found = predictions()
    sources = {row.row.source_key: row.row for row in found}
    listed = (
        f"* `{key}`: {row.source_title} ({row.source_year}), {row.source_ref}"
        for key, row in sorted(sources.items())
    )
    return _PAGE.format(
        holding=sum(row.holds for row in found),
        count=len(found),
        near=sum(abs(row.error) <= 0.15 for row in found),
        spread=median_spread(found),
        rows="\n".join(map(_line, found)),
        sources="\n".join(listed),
    )


def _line(found: Prediction) -> str:
    row = found.row
    more = [
        text
        for text, shown in (
            (f"{row.width_bytes} B each", row.width_bytes is not None),
            (f"{row.cores} cores", row.cores > 1),
            ("other socket", row.remote),
            ("first touch", row.first_touch),
            ("window set", row.window_set),
        )
        if shown
    ]
    instruction = f"{row.instruction} ({', '.join(more)})" if more else row.instruction
    cells = (
        row.id,
        f"{row.value:g}",
        row.unit,
        str(row.access_bytes),
        instruction,
        f"`{found.core}`",
        f"`{found.bar}`",
        digits(found.usual),
        f"{digits(found.least)} to {digits(found.most)}",
        f"{100 * found.error:+.0f} %",
        "yes" if found.holds else "no",
    )
    return f"| {' | '.join(cells)} |"
