"""Names of the package, loaded at first use: `pcielab.on_demand` reads this file."""

from pcielab.analysis.validate.bands import Band as Band, write_bands as write_bands
from pcielab.analysis.validate.intervals import (
    Interval as Interval,
    Judged as Judged,
    judge as judge,
    twin_of as twin_of,
)
from pcielab.analysis.validate.row_classes import METRICS as METRICS
from pcielab.analysis.validate.scores import Score as Score, require_common as require_common, score as score
