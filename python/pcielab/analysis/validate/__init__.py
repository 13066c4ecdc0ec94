"""Validate a twin: its predictions of a whole suite against measured rows.

from pcielab.analysis.validate import score

result = score(open_store("measured.db"), open_store("twin.db"), exclude=read_pack(Path("pack.csv")))
result.by_test, result.by_regime, result.worst(10)

from pcielab.analysis.validate import judge

[one for one in judge(result.comparison) if not one.inside]
"""

from pcielab.analysis.validate.bands import Band, write_bands
from pcielab.analysis.validate.intervals import Interval, Judged, judge, twin_of
from pcielab.analysis.validate.row_classes import METRICS
from pcielab.analysis.validate.scores import Score, score

__all__ = ["METRICS", "Band", "Interval", "Judged", "Score", "judge", "score", "twin_of", "write_bands"]
