"""`docs/reference/published-figures.md`: all published figures, and how well they predict each other."""

from pcielab.analysis.normal.comparable import question_of, ratio_of
from pcielab.analysis.normal.left_out import LOSSES, LeftOut, Share, leave_one_source_out
from pcielab.library.figure_words import COMPLETIONS, STATES
from pcielab.library.published_figures import PublishedFigure, published_figures

_HEAD = """\
# Published figures

Written by `make generate` from `profiles/published/figures.csv`. [Is my number
normal?](../guides/is-my-number-normal.md) uses them; CONTRIBUTING.md says how to add one. GB is 10^9 bytes.
A ratio is the value over the bound of its own link, with MPS 256 where the source does not say; figures
with a cause are no standard for others.

"""


def markdown() -> str:
    """The page."""
    figures = published_figures().values()
    sources = len({figure.source_key for figure in figures})
    lines = [
        _HEAD,
        f"{len(figures)} figures of {sources} sources.\n\n## Score\n\n",
        *_score(leave_one_source_out()),
        "## Conditions\n\n",
        *[f"* `{state}`: {meaning}\n" for state, meaning in STATES.items()],
        "\nOf completions:\n\n",
        *[f"* `{way}`: {meaning}\n" for way, meaning in COMPLETIONS.items()],
        "\n## Figures\n\n",
        "| id | quantity | value | link | device | question | ratio | cause | source |\n",
        "|---|---|---|---|---|---|---|---|---|\n",
        *[_row(figure) for figure in figures],
        "\n## Sources\n\n",
        *sorted({_source(figure) for figure in figures}),
    ]
    return "".join(lines)


def _score(score: LeftOut) -> list[str]:
    losses = [f"a loss of {loss:.0%}" for loss in LOSSES]
    return [
        "Each bandwidth whose source states a link, judged without the figures of that source:\n\n",
        "| bandwidths with a link | answered | without a named cause | of those inside | highest over lowest |\n",
        "|---|---|---|---|---|\n",
        f"| {score.figures} | {score.answered} ({score.answered / score.figures:.0%}) | {score.standards} "
        f"| {score.inside} ({score.inside / score.standards:.0%}) | {score.width:.2f} |\n\n",
        f"Of the {score.answered - score.standards} with a cause that their source names, {score.caused} are "
        f"outside, as they should be: with them, {score.all_inside / score.answered:.0%} are inside. Highest over "
        "lowest usual value: the median; "
        f"{score.width_without_conditions:.2f} without figures under a condition.\n\n",
        "Shares called low, as they are and with a loss: each source's figures share one vote; 90 % intervals for "
        "that many sources:\n\n",
        f"| kind | sources | figures | low as they are | {' | '.join(losses)} | highest over lowest |\n",
        f"|{'---|' * (5 + len(LOSSES))}\n",
        *[
            f"| {power.kind} | {power.sources} | {power.figures} | {_share(power.called_low)} "
            f"| {' | '.join(map(_share, power.noticed))} | {power.width:.2f} |\n"
            for power in sorted(score.kinds, key=lambda power: -power.sources)
        ],
        "\n",
    ]


def _share(share: Share) -> str:
    return f"{share.value:.0%} ({share.low:.0%} to {share.high:.0%})"


def _row(figure: PublishedFigure) -> str:
    words = " ".join(word for word in _words(figure) if word)
    cause = f"{figure.cause} (against {figure.against})" if figure.against else figure.cause
    cells = (
        figure.id,
        figure.quantity,
        f"{figure.value:g} {figure.unit}",
        figure.link,
        figure.device,
        words,
        _ratio(figure),
        cause,
        f"`{figure.source_key}`",
    )
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |\n"


def _words(figure: PublishedFigure) -> tuple[str, ...]:
    return (figure.what, figure.engine, figure.kind, figure.state, figure.completion)


def _ratio(figure: PublishedFigure) -> str:
    asked = question_of(figure)
    if asked is None or asked[1].is_time:
        return ""
    ratio = ratio_of(asked[1])
    return "" if ratio is None else f"{ratio:.3g}"


def _source(figure: PublishedFigure) -> str:
    address = figure.source_ref
    linked = f"<{address}>" if address.startswith("http") and " " not in address else address
    return f"* `{figure.source_key}`: {figure.source_title} ({figure.source_year}), {linked}\n"
