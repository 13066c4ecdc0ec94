"""Pictures of the rows that a twin predicts worst: whole families, to show neighbouring rows too."""

from dataclasses import replace

from pcielab.analysis.validate.scores import Score
from pcielab.report.comparison import draw

_FAMILIES_DRAWN = 8
_ROWS_RANKED = 60


def draw_worst(result: Score) -> str:
    """A self-contained HTML page of the families that hold most of the worst rows, measured and predicted."""
    worst = result.worst(_ROWS_RANKED)["family"].value_counts()
    drawn = set(worst.index[:_FAMILIES_DRAWN])
    rows = [row for row in result.comparison.pairs if row["family"] in drawn]
    shown = replace(result.comparison, pairs=rows)
    lines = [
        f"{row['group']}, {row['metric']}: {row['rows']} rows, error median {row['median']:.2f}, "
        f"mean {row['mean']:.2f}, p95 {row['p95']:.2f} {'%' if row['unit'] == 'percent' else 'ns'}"
        for row in result.by_regime.to_dict("records")
    ]
    return draw(shown, title="Largest errors of the twin", notes=lines)
