"""The constants of the card, fitted once over several machines.

The card behaves alike in every host, so its constants are fitted to the rows of several machines together; each
machine keeps its own values. Calibrating one machine then takes the constants as given.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from pcielab.analysis.calibrate.fit import Estimate, JointFit, Unknown
from pcielab.analysis.calibrate.machine import calibrate
from pcielab.analysis.calibrate.measured import Measured, Row, RowKey, has_offset
from pcielab.analysis.calibrate.parameters import PARAMETERS, Parameter
from pcielab.analysis.calibrate.twin import Progress, Twin

CARD_PARAMETERS: tuple[Parameter, ...] = (
    Parameter("device.dma.read_overhead_ns", 0, 1000, 20, 4),
    Parameter("device.dma.write_to_read_ns", 0, 1000, 40, 4),
    Parameter("device.dma.write_acknowledged_ns", 0, 1000, 40, 4),
    Parameter("device.dma.request_interval_ns", 0, 300, 20, 4),
    Parameter("device.dma.partial_word_ns", 0, 100, 5, 1),
    Parameter("device.dma.unaligned_card_ns", 0, 100, 10, 2),
    Parameter("device.dma.unaligned_host_ns", 0, 100, 5, 1),
    Parameter("device.dma.engine.read_fixed_ns", 0, 50, 2, 0.3),
    Parameter("device.dma.engine.write_fixed_ns", 0, 50, 2, 0.3),
    Parameter("device.dma.engine.segment_ns", 1, 100, 1, 0.1),
    Parameter("device.dma.engine.word_ns", 0, 20, 0.2, 0.05),
    Parameter("device.dma.engine.short_tail_ns", 0, 100, 4, 1),
    Parameter("device.dma.engine.shifted_flush_ns", 0, 200, 10, 2),
    Parameter("device.dma.engine.both_ways_byte_ns", 0, 1, 0.02, 0.002),
    Parameter("device.command.read_byte_ns", 0, 2, 0.1, 0.02),
    Parameter("device.command.write_byte_ns", 0, 2, 0.1, 0.02),
    Parameter("device.command.read_split_ns", 0, 200, 10, 2),
    Parameter("device.command.write_split_ns", 0, 200, 10, 2),
)
"""Constants of the card, like the machine's in `parameters.PARAMETERS`."""

_FAMILIES = (
    "lat_cmd_sizes", "lat_cmd_off", "lat_dma_sizes", "lat_dma_off", "bw_dma_sz_sweep", "bw_dma_off",
)  # fmt: skip
"""Families that show the card: all sizes and offsets over small windows."""
ROWS_PER_MACHINE = 100


def fit_card(
    machines: Sequence[Measured],
    pack: set[RowKey],
    *,
    only: Collection[str] | None = None,
    rows_per_machine: int = ROWS_PER_MACHINE,
    seed: int = 1,
    progress: Progress | None = None,
) -> dict[str, Estimate]:
    """The constants of the card, by dotted key.

    Args:
        machines: Full runs of machines without idle states, one for each machine.
        pack: Rows that determine a machine's own values; all of them are used.
        only: Keys of the constants to fit; None: all.
        rows_per_machine: Further rows, spread evenly over the families that show the card.
        seed: Seed of the simulation.
        progress: Called while rows are simulated.
    """
    twins, unknowns = [], []
    for number, measured in enumerate(machines):
        rows = _chosen(measured.rows, pack, rows_per_machine)
        calibrated = calibrate(
            replace(measured, rows=tuple(row for row in rows if row.key in pack)),
            measured.source,
            seed=seed,
            progress=progress,
        )
        twin = Twin(calibrated.system, rows, seed=seed, progress=progress)
        twin.phase = "card"
        twins.append(twin)
        known = {one.parameter.key for one in calibrated.estimates if one.identified}
        unknowns += [Unknown(one, float(twin.value(one.key)), (number,)) for one in PARAMETERS if one.key in known]
    everywhere = tuple(range(len(twins)))
    unknowns += [
        Unknown(one, float(value), everywhere)
        for one in CARD_PARAMETERS
        if (only is None or one.key in only) and (value := twins[0].value(one.key)) is not None
    ]
    estimates, _ = JointFit(twins, unknowns).run()
    keys = {one.key for one in CARD_PARAMETERS}
    return {one.parameter.key: one for one in estimates if one.parameter.key in keys}


def _chosen(rows: Sequence[Row], pack: set[RowKey], count: int) -> tuple[Row, ...]:
    """The rows of the pack, and others that show the card, spread evenly over the suite."""
    others = [row for row in rows if row.family.startswith(_FAMILIES) and row.key not in pack]
    numbers = {round(number) for number in np.linspace(0, len(others) - 1, min(count, len(others)))}
    chosen = [row for row in rows if row.key in pack and not has_offset(row)]
    return tuple(sorted([*chosen, *(others[number] for number in numbers)], key=lambda row: row.index))
