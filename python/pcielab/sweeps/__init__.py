"""Sweeps: one test on one system over many parameter values.

`sweep` and `bounds` are for notebooks; `pcielab sweep` calls `load_sweep` and `carry_out`. Points are simulated by
processes of this machine, or by the workers of a Dask scheduler; results are kept.
"""

from typing import TYPE_CHECKING

from pcielab.on_demand import names_on_demand

if TYPE_CHECKING:
    from pcielab.sweeps.asking import bounds, sweep
    from pcielab.sweeps.axes import Between, between
    from pcielab.sweeps.plan import Draws, Plan
    from pcielab.sweeps.point import Point
    from pcielab.sweeps.results import Results
    from pcielab.sweeps.run import TABLE, Work, carry_out, open_folder
    from pcielab.sweeps.spec import SweepFile, load_sweep

__all__ = [
    "TABLE",
    "Between",
    "Draws",
    "Plan",
    "Point",
    "Results",
    "SweepFile",
    "Work",
    "between",
    "bounds",
    "carry_out",
    "load_sweep",
    "open_folder",
    "sweep",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "pcielab.sweeps.asking": ["bounds", "sweep"],
        "pcielab.sweeps.axes": ["Between", "between"],
        "pcielab.sweeps.plan": ["Draws", "Plan"],
        "pcielab.sweeps.point": ["Point"],
        "pcielab.sweeps.results": ["Results"],
        "pcielab.sweeps.run": ["TABLE", "Work", "carry_out", "open_folder"],
        "pcielab.sweeps.spec": ["SweepFile", "load_sweep"],
    },
)
