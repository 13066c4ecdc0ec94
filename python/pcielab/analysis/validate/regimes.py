"""Regimes of rows: the part of the machine that limits each, by the twin's bound, the window and the offsets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pcielab.analysis.explain import explain_run
from pcielab.library.profiles.parts import System
from pcielab.model.answers import Capacities
from pcielab.model.questions import system_capacities
from pcielab.store import Store
from pcielab.store.identity import Identity, identity

_BOUNDS = {
    "tags": "tag-limited",
    "latency": "tag-limited",
    "device-rate": "card-limited",
    "receive-buffers": "card-limited",
    "completion-buffer": "card-limited",
    "request-rate": "host-limited",
    "write-rate": "host-limited",
    "write-pool": "host-limited",
    "read-pool": "host-limited",
    "memory": "host-limited",
    "translation": "host-limited",
}
"""Regime of each bound of the closed-form model; all other bounds are the link's."""

_APART = "page-walks"
"""Windows beyond the IO-TLB are a regime of their own: the other regime of these rows is their next bound's."""

UNALIGNED, CACHE_EDGE, NUMA, BEYOND_THE_TLB = "unaligned", "cache edge", "NUMA", "IOMMU beyond the TLB"
"""Regimes by offsets, window and sockets."""

_EDGE_LOW, _EDGE_HIGH = 0.5, 4.0
"""Windows at the edge of a cache, relative to its capacity: hits fade on both sides of it."""


@dataclass(frozen=True)
class Regimes:
    """Finds the regimes of rows of one twin."""

    system: System
    capacities: Capacities
    bounds: Mapping[Identity, str]

    def of(self, row: Any) -> tuple[str, ...]:
        """The regimes of a row of a comparison: none, one or several."""
        special = self.special(row)
        bound = self.bounds.get(identity(row["family"], row["name"], row))
        if bound is None or UNALIGNED in special:
            return special
        return (_BOUNDS.get(bound, "link-limited"), *special)

    def special(self, row: Any) -> tuple[str, ...]:
        """What is special about a row by its offsets, window and sockets."""
        found = []
        if row["host_offset_bytes"] or row["device_offset_bytes"]:
            found.append(UNALIGNED)
        if self._at_an_edge(row):
            found.append(CACHE_EDGE)
        if self.system.memory_socket != self.system.device_socket and row["name"] != "BW_DMA_WR":
            found.append(NUMA)
        if self._beyond_the_tlb(row):
            found.append(BEYOND_THE_TLB)
        return tuple(found)

    def _at_an_edge(self, row: Any) -> bool:
        writes = "WR" in row["name"].rpartition("_")[2] or row["name"].endswith("RW")
        capacity = None
        if row["cache"] == "host-warm":
            capacity = self.capacities.host_lines_bytes
        elif row["cache"] == "device-warm" or writes:
            capacity = self.capacities.device_lines_bytes
        return bool(capacity) and _EDGE_LOW <= row["window_bytes"] / capacity <= _EDGE_HIGH

    def _beyond_the_tlb(self, row: Any) -> bool:
        reach_bytes = self.capacities.io_tlb_bytes
        return self.system.iommu == "four-kib-pages" and row["window_bytes"] > (reach_bytes or 0)


def regimes_of(predicted: Store) -> Regimes:
    """The regimes of the rows of a simulated run."""
    system = predicted.require_system()
    explained = explain_run(predicted).rows
    bounds = {
        identity(row.family, row.name, row.parameters): next(
            ceiling.bound for ceiling in row.answer.ceilings if ceiling.bound != _APART
        )
        for row in explained
    }
    return Regimes(system, system_capacities(system.handle), bounds)
