"""Validate a twin: its predictions of a whole suite against measured rows.

from pcielab.analysis.validate import score

result = score(open_store("measured.db"), open_store("twin.db"), exclude=read_pack(Path("pack.csv")))
result.by_test, result.by_regime, result.worst(10)

from pcielab.analysis.validate import judge

[one for one in judge(result.comparison) if not one.inside]
"""

from pcielab.on_demand import names_on_demand

__getattr__, __dir__ = names_on_demand(__name__, __file__)
