"""The parameters of a machine that calibration estimates: one table.

Each has bounds, how much it differs from machine to machine, and the rows that show it most directly: from these
it
is solved first, by itself, before all are fitted together. A parameter with no measured row to show it keeps the
value of the base host.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from pcielab.analysis.calibrate.facts import MERGING, not_merging, older_host
from pcielab.library.profiles.nested import Table

_KIB, _MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Select:
    """Which rows of the suite, by published name, size, cache state and window."""

    name: str
    size_bytes: int
    cache: str
    window_bytes: int

    def matches(self, name: str, test: Table) -> bool:
        """Whether a test is meant: aligned, and with these parameters."""
        return (
            name == self.name
            and test["size_bytes"] == self.size_bytes
            and test["cache"] == self.cache
            and test["window_bytes"] == self.window_bytes
            and not test["host_offset_bytes"]
            and not test["device_offset_bytes"]
        )


@dataclass(frozen=True)
class Shown:
    """What shows a parameter: the time of a transaction in one row, or by how much it exceeds that in another."""

    row: Select
    less: Select | None = None


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes:
        key: Dotted key of a resolved system.
        low, high: Bounds.
        spread: How much the value differs among machines, about: the scale of the fit, and the width of the prior.
        step: Change that derivatives are taken over; large enough to stand out from the grain of the simulation.
        shown_by: Ways to solve it before the fit, of which the median is taken.
        when: Whether a system has the part that the parameter describes.
        whole: Whether values are whole numbers.
    """

    key: str
    low: float
    high: float
    spread: float
    step: float
    shown_by: tuple[Shown, ...] = ()
    when: Callable[[Table], bool] = lambda _system: True
    whole: bool = False

    def rounded(self, value: float) -> float | int:
        """The value as a profile may hold it: inside the bounds, to a hundredth of the step."""
        inside = min(max(value, self.low), self.high)
        return round(inside) if self.whole else round(float(inside), 2 - math.floor(math.log10(self.step)))


Choices: TypeAlias = Callable[[Table], list[dict[str, Any]]]


@dataclass(frozen=True)
class Structure:
    """A property that is one of a few: chosen by trying each on the rows that tell them apart.

    Attributes:
        key: What it is called in the provenance.
        choices: The alternatives for a system, each as values by dotted key.
        tells: Whether a row tells them apart, by its name and test.
    """

    key: str
    choices: Choices
    tells: Callable[[str, Table], bool]


def _translated(system: Table) -> bool:
    return bool(system["iommu"] == "four-kib-pages")


def _several_sockets(system: Table) -> bool:
    return bool(system["host"]["sockets"] > 1)


def _remote(system: Table) -> bool:
    return bool(system["memory_socket"] != system["device_socket"])


def _local(system: Table) -> bool:
    return not _remote(system)


def _written_elsewhere(system: Table) -> bool:
    """Whether the program writes its lines into another socket's cache than the card's."""
    return bool(system["program_socket"] != system["device_socket"])


def _owned_elsewhere(system: Table) -> bool:
    return _remote(system) or _written_elsewhere(system)


def _idle(system: Table) -> bool:
    return system["host"]["idle"] is not None


def _command(name: str, cache: str, window: int) -> Select:
    return Select(name, 8, cache, window)


def _dma(name: str, cache: str, window: int, size: int = 64) -> Select:
    return Select(name, size, cache, window)


_WARM_COMMAND = _command("LAT_CMD_RD", "device-warm", 256 * _KIB)
_COLD_COMMAND = _command("LAT_CMD_RD", "cold", 256 * _KIB)
_HOST_COMMAND = _command("LAT_CMD_RD", "host-warm", 256 * _KIB)
_COLD_DMA = _dma("LAT_DMA_RD", "cold", 256 * _KIB)
_HOST_DMA = _dma("LAT_DMA_RD", "host-warm", 256 * _KIB)

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "host.root_complex.read_ns",
        50,
        2000,
        100,
        4,
        (
            Shown(_WARM_COMMAND),
            Shown(_command("LAT_CMD_RD", "host-warm", 4 * _KIB)),
            Shown(_dma("LAT_DMA_RD", "host-warm", 8 * _KIB)),
        ),
    ),
    Parameter(
        "host.memory.miss_ns",
        0,
        500,
        40,
        4,
        (
            Shown(_COLD_COMMAND, _WARM_COMMAND),
            Shown(_COLD_DMA, _HOST_DMA),
            Shown(_dma("LAT_DMA_RD", "cold", 8 * _KIB), _dma("LAT_DMA_RD", "host-warm", 8 * _KIB)),
        ),
    ),
    Parameter(
        "host.memory.host_line_ns",
        0,
        300,
        20,
        4,
        (Shown(_HOST_COMMAND, _WARM_COMMAND),),
    ),
    Parameter("host.memory.remote_ns", 0, 400, 20, 4, (Shown(_COLD_DMA, _COLD_COMMAND),), when=_remote),
    Parameter("host.memory.remote_dirty_ns", 0, 400, 20, 4, (Shown(_HOST_DMA),), when=_written_elsewhere),
    Parameter("host.memory.untouched_ns", 0, 100, 15, 4, when=_several_sockets),
    Parameter(
        "host.root_complex.write_ns",
        0,
        500,
        40,
        4,
        (
            Shown(_command("LAT_CMD_WRRD", "host-warm", 4 * _KIB), _command("LAT_CMD_RD", "host-warm", 4 * _KIB)),
            Shown(_command("LAT_CMD_WRRD", "cold", 256 * _KIB)),
        ),
    ),
    Parameter("host.memory.ownership_ns", 0, 400, 60, 8, when=_local),
    Parameter("host.memory.remote_ownership_ns", 0, 600, 80, 8, when=_owned_elsewhere),
    Parameter("host.llc.host_share", 0.3, 1, 0.08, 0.02),
    Parameter(
        "host.iommu.walk_ns",
        0,
        2000,
        60,
        8,
        (Shown(_dma("LAT_DMA_RD", "cold", 64 * _MIB), _COLD_DMA),),
        when=_translated,
    ),
    Parameter(
        "host.iommu.tlb.entries",
        8,
        4096,
        12,
        6,
        (Shown(_dma("LAT_DMA_RD", "cold", _MIB), _COLD_DMA),),
        when=_translated,
        whole=True,
    ),
    Parameter(
        "host.root_complex.busy_read_ns",
        50,
        3000,
        100,
        8,
        (Shown(_dma("BW_DMA_RD", "host-warm", 8 * _KIB)), Shown(_dma("BW_DMA_RD", "host-warm", 256 * _KIB))),
        # Where all lines are memory's or another socket's, only sums with what these take show.
        when=lambda system: not _written_elsewhere(system),
    ),
    Parameter(
        "host.memory.busy_miss_ns",
        0,
        500,
        40,
        8,
        (Shown(_dma("BW_DMA_RD", "cold", 256 * _KIB)),),
    ),
    Parameter(
        "host.memory.busy_remote_dirty_ns",
        0,
        600,
        40,
        8,
        (Shown(_dma("BW_DMA_RD", "host-warm", 256 * _KIB)),),
        when=_written_elsewhere,
    ),
    Parameter(
        "host.root_complex.downlink_stretch",
        1,
        1.5,
        0.02,
        0.004,
        (Shown(_dma("BW_DMA_RD", "host-warm", 8 * _KIB, 512)),),
    ),
    Parameter(
        "host.root_complex.uplink_stretch",
        1,
        1.5,
        0.02,
        0.004,
        (Shown(_dma("BW_DMA_WR", "host-warm", 8 * _KIB, 1024)),),
    ),
    Parameter(
        "host.iommu.walker_busy_ns",
        1,
        5000,
        80,
        10,
        (Shown(_dma("BW_DMA_RD", "cold", 64 * _MIB)),),
        when=_translated,
    ),
    Parameter("host.idle.wake_ns", 0, 5000, 200, 40, when=_idle),
    Parameter("host.idle.wake_floor_ns", 0, 10000, 200, 20, when=_idle),
)
"""In the order in which they are solved: each may build on those before it."""


PLACEMENT = Structure(
    "placement",
    lambda system: [
        {"memory_socket": memory, "program_socket": program}
        for memory in range(min(2, system["host"]["sockets"]))
        for program in range(min(2, system["host"]["sockets"]))
    ],
    lambda name, test: name.startswith("LAT_") and test["size_bytes"] <= 64,
)
"""Where memory and control program are, on a machine of which only the number of sockets is known."""

TRANSLATION = Structure(
    "iommu",
    lambda system: [] if system["iommu"] == "off" else [{"iommu": "super-pages"}, {"iommu": "four-kib-pages"}],
    lambda name, test: name.endswith("_RD") and test["size_bytes"] <= 64 and test["window_bytes"] >= _MIB,
)
"""How large the pages really are that an IOMMU translates."""

WALKERS = Structure(
    "host.iommu.walkers",
    lambda system: [
        {"host.iommu.walkers": count, "host.iommu.walk_region_bytes": region_bytes}
        for count in (4, 5, 6)
        for region_bytes in (0, older_host()["iommu"]["walk_region_bytes"])
        if _translated(system)
    ],
    lambda name, test: name in ("BW_DMA_RD", "BW_DMA_WR") and test["window_bytes"] >= _MIB,
)
"""How many page walks go on at the same time, and whether those of one region do not. It is as large as on the
host that is known to have such regions."""

WALKS_UNDER_LOAD = ("host.iommu.walker_busy_ns",)
"""What belongs to each number of walkers."""

LINK_UNIT = Structure(
    "host.root_complex.downlink_quantum_bytes",
    lambda _system: [{"host.root_complex.downlink_quantum_bytes": unit} for unit in (16, 8)],
    lambda name, test: name == "BW_DMA_RD" and test["size_bytes"] % 512 == 0,
)
"""In which units the port sends completions: large reads are limited by these."""

LINK_TIME = ("host.root_complex.downlink_stretch",)
"""What belongs to each unit."""

STRUCTURES: tuple[Structure, ...] = (
    Structure(
        "host.root_complex.merge_partial_lines",
        lambda _system: [
            {f"host.root_complex.{key}": value for key, value in values.items()}
            for values in (MERGING, not_merging())
        ],
        lambda name, test: name == "BW_DMA_RD" and test["size_bytes"] % 64 != 0,
    ),
    Structure(
        "host.llc.ddio_ways",
        lambda system: [{"host.llc.ddio_ways": ways} for ways in range(1, min(5, system["host"]["llc"]["ways"]))],
        lambda name, test: name.startswith("LAT_CMD") and test["size_bytes"] == 8,
    ),
)
