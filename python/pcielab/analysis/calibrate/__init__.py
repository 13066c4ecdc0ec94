"""Calibrated twins: the parameters of one machine from a few of its measured rows.

    from pcielab.analysis.calibrate import calibrate, read_measured

    twin = calibrate(read_measured(Path("results"), Path("calibration-pack.csv")), name="mine")
    Path("mine.toml").write_text(twin.to_toml())

What can be read of a machine is read (`facts`), what one pair of rows shows is solved from them (`start`), what
is one
of a few is tried (`structure`), and the rest is fitted jointly (`fit`), against a simulation of every row with the
history that it has in the suite `paper`.
"""

from pcielab.extras import require

require(("scipy",), "calibrate")

# What follows imports it, and whoever lacks it should read what to install.
from pcielab.analysis.calibrate.calibration import Calibration  # noqa: E402
from pcielab.analysis.calibrate.machine import calibrate  # noqa: E402
from pcielab.analysis.calibrate.measured import Measured, read_measured, read_pack  # noqa: E402

__all__ = ["Calibration", "Measured", "calibrate", "read_measured", "read_pack"]
