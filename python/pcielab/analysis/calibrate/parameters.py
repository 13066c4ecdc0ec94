"""The parameters of a machine that calibration estimates, in one table.

Each has bounds, its spread between machines, and the rows that show it most directly. From these rows it is solved
alone before all are fitted together. A parameter that no measured row shows keeps the base host's value.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from pcielab.analysis.calibrate.recorded_system import MERGING, not_merging, older_host
from pcielab.library.profiles.values import Table

_KIB, _MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Select:
    """Which rows of the suite, by published name, size, cache state and window."""

    name: str
    size_bytes: int
    cache: str
    window_bytes: int

    def matches(self, name: str, test: Table) -> bool:
        """Whether a test is aligned and has these parameters."""
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
    """Rows that show a parameter: the time of a transaction in one, or its excess over that in another."""

    row: Select
    less: Select | None = None


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes:
        key: Dotted key of a resolved system.
        low, high: Bounds.
        spread: Rough spread of the value among machines: the scale of the fit, and the width of the prior.
        step: Step of the derivatives, larger than the grain of the simulation.
        shown_by: Ways to solve it before the fit; their median counts.
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
    """A discrete property: chosen by trying each alternative on the rows that distinguish them.

    Attributes:
        key: Its key in the provenance.
        choices: The alternatives for a system, each as values by dotted key.
        tells: Whether a row, by its name and test, distinguishes them.
        borrowed: Keys of an alternative that no row shows: their values are another host's.
    """

    key: str
    choices: Choices
    tells: Callable[[str, Table], bool]
    borrowed: tuple[str, ...] = ()


def _translated(system: Table) -> bool:
    return bool(system["iommu"] == "four-kib-pages")


def _remote(system: Table) -> bool:
    return bool(system["memory_socket"] != system["device_socket"])


def _written_elsewhere(system: Table) -> bool:
    """Whether the program's lines are in another socket's cache than the card's."""
    return bool(system["program_socket"] != system["device_socket"])


def _answered_in_many(system: Table) -> bool:
    """Whether a request may have more than two completions: only then do rows show the time between them."""
    return int(system["link"]["mrrs_bytes"]) > 2 * int(system["link"]["mps_bytes"])


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
    Parameter("host.memory.host_line_ns", 0, 300, 20, 4, (Shown(_HOST_COMMAND, _WARM_COMMAND),)),
    Parameter("host.memory.remote_ns", 0, 400, 20, 4, (Shown(_COLD_DMA, _COLD_COMMAND),), when=_remote),
    Parameter("host.memory.remote_dirty_ns", 0, 400, 20, 4, (Shown(_HOST_DMA),), when=_written_elsewhere),
    Parameter("host.memory.untouched_ns", 0, 100, 15, 4, when=lambda system: system["host"]["sockets"] > 1),
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
    Parameter("host.memory.ownership_ns", 0, 400, 60, 8, when=lambda system: not _remote(system)),
    Parameter(
        "host.memory.remote_ownership_ns",
        0,
        600,
        80,
        8,
        when=lambda system: _remote(system) or _written_elsewhere(system),
    ),
    Parameter(
        "host.root_complex.completion_interval_ns",
        0,
        30,
        6,
        # Up to two or three ns the link hides it: a smaller step would show nothing near 0.
        5,
        (Shown(_dma("LAT_DMA_RD", "host-warm", 8 * _KIB, 2048), _dma("LAT_DMA_RD", "host-warm", 8 * _KIB, 256)),),
        when=_answered_in_many,
    ),
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
        # Otherwise all lines come from memory or another socket, and rows show only sums with their times.
        when=lambda system: not _written_elsewhere(system),
    ),
    Parameter("host.memory.busy_miss_ns", 0, 500, 40, 8, (Shown(_dma("BW_DMA_RD", "cold", 256 * _KIB)),)),
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
"""In solving order: each may build on those before it."""

PLACEMENT = Structure(
    "placement",
    lambda system: [
        {"memory_socket": memory, "program_socket": program}
        for memory in range(min(2, system["host"]["sockets"]))
        for program in range(min(2, system["host"]["sockets"]))
    ],
    lambda name, test: name.startswith("LAT_") and test["size_bytes"] <= 64,
)
"""The sockets of memory and control program, where the files give only the number of sockets."""

TRANSLATION = Structure(
    "iommu",
    lambda system: [] if system["iommu"] == "off" else [{"iommu": "super-pages"}, {"iommu": "four-kib-pages"}],
    lambda name, test: name.endswith("_RD") and test["size_bytes"] <= 64 and test["window_bytes"] >= _MIB,
)
"""The page size that the IOMMU really uses."""

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
"""Concurrent page walks, and whether walks in one region exclude each other; the region's size is that of the host
known to have them."""

WALKS_UNDER_LOAD = ("host.iommu.walker_busy_ns",)
"""Solved anew for each number of walkers."""

LINK_UNIT = Structure(
    "host.root_complex.downlink_quantum_bytes",
    lambda _system: [{"host.root_complex.downlink_quantum_bytes": unit} for unit in (16, 8)],
    lambda name, test: name == "BW_DMA_RD" and test["size_bytes"] % 512 == 0,
)
"""Unit in which the port sends completions; it limits large reads."""

LINK_TIME = ("host.root_complex.downlink_stretch",)
"""Solved anew for each unit."""

STRUCTURES: tuple[Structure, ...] = (
    Structure(
        "host.root_complex.merge_partial_lines",
        lambda _system: [
            {f"host.root_complex.{key}": value for key, value in values.items()}
            for values in (MERGING, not_merging())
        ],
        lambda name, test: name == "BW_DMA_RD" and test["size_bytes"] % 64 != 0,
        ("host.root_complex.partial_line_busy_ns",),
    ),
    Structure(
        "host.llc.ddio_ways",
        lambda system: [{"host.llc.ddio_ways": ways} for ways in range(1, min(5, system["host"]["llc"]["ways"]))],
        lambda name, test: name.startswith("LAT_CMD") and test["size_bytes"] == 8,
    ),
)
