"""Calibrated twins: the parameters of one machine from a few of its measured rows.

    from pcielab.analysis.calibrate import calibrate, read_measured

    twin = calibrate(read_measured(Path("results"), Path("calibration-pack.csv")), name="mine")
    Path("mine.toml").write_text(twin.to_toml())

Steps: read the machine's `sys-*.txt` (`recorded_system`), solve values that one pair of rows shows (`start`), try
the alternatives of discrete properties (`structure`), fit the rest jointly (`fit`). Each row is simulated with the
history that it has in the suite `paper`.
"""

from pcielab.extras import require

require(("scipy", "tomli_w"), "calibrate")

# Checked before the imports below, so that the error names the extra to install.
from pcielab.analysis.calibrate.calibration import Calibration  # noqa: E402
from pcielab.analysis.calibrate.machine import calibrate  # noqa: E402
from pcielab.analysis.calibrate.measured import Measured, read_measured, read_pack  # noqa: E402

__all__ = ["Calibration", "Measured", "calibrate", "read_measured", "read_pack"]
