"""Names of the package, loaded at first use: `pcielab.on_demand` reads this file."""

from pcielab.sweeps.asking import bounds as bounds, sweep as sweep
from pcielab.sweeps.axes import Between as Between, between as between
from pcielab.sweeps.plan import Draws as Draws, Plan as Plan
from pcielab.sweeps.point import Point as Point
from pcielab.sweeps.results import Results as Results
from pcielab.sweeps.run import TABLE as TABLE, Work as Work, carry_out as carry_out, open_folder as open_folder
from pcielab.sweeps.spec import SweepFile as SweepFile, load_sweep as load_sweep
