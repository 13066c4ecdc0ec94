"""Sweeps: one test on one system over many parameter values.

`sweep` and `bounds` are for notebooks; `pcielab sweep` calls `load_sweep` and `carry_out`. Points are simulated by
processes of this machine, or by the workers of a Dask scheduler; results are kept.
"""

from pcielab.on_demand import names_on_demand

__getattr__, __dir__ = names_on_demand(__name__, __file__)
