"""The next best placement: what a flow gains if one of its devices sat elsewhere.

Positions are those that the fabric has: below another switch, or on another stack or host that has a device. The
device keeps its link. Whether a slot is free there, no register shows. All flows are estimated again.
"""

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.fabric.estimation import Estimate, through_bars_of
from pcielab.fabric.flow_texts import asked_gbytes_per_s, limited
from pcielab.fabric.listed_shares import without_engines
from pcielab.fabric.paths import capacities_on, stream_capacities_on
from pcielab.library.fabrics.load import Fabric
from pcielab.library.fabrics.routes import Routes

MOST_TRIALS = 256
"""Most placements that are estimated: half a second on a machine of 100 devices."""
_COLUMNS = [
    "flow",
    "gbytes_per_s",
    "limit",
    "device",
    "below",
    "then_gbytes_per_s",
    "gain_gbytes_per_s",
    "all_gbytes_per_s",
]
_LEAST_GAIN = 1e-6


@dataclass(frozen=True)
class Placements:
    """The best placement for each flow that another one may help.

    Attributes:
        flows: One row per such flow: flow, gbytes_per_s, limit, device (the one to move; None if no move helps),
            below (where to), then_gbytes_per_s, gain_gbytes_per_s, all_gbytes_per_s (the gain of all flows).
        tried: Number of placements that were estimated.
        possible: Number of placements that the fabric has.
    """

    flows: pd.DataFrame
    tried: int
    possible: int


@refuses_wrong_types
def placements(fabric: Fabric, flows: pd.DataFrame, found: Estimate) -> Placements:
    """The best placement for each flow that gets less than it asks for and its devices and their links move.

    Args:
        fabric: The fabric.
        flows: The flows as asked for (see `Fabric.flows`), before `with_limits`.
        found: Their estimate.
    """
    routes = Routes.of(fabric)
    trials = _Trials(routes, flows, found)
    short = _short(routes, flows, found, stream_capacities_on(routes))
    moves = list(dict.fromkeys(_moves(routes, found, short)))
    now = found.flows["gbytes_per_s"].to_numpy()
    tried = moves[:MOST_TRIALS]
    then = [trials.bandwidth(device, below) for device, below in tried]
    ends = [set(pair) for pair in flows[["source", "destination"]].itertuples(index=False)]
    outcomes = list(zip(tried, then, strict=True))
    rows = [_row(found, row, [one for one in outcomes if one[0][0] in ends[row]], now) for row in short]
    return Placements(pd.DataFrame(rows, columns=_COLUMNS), len(tried), len(moves))


def _short(routes: Routes, flows: pd.DataFrame, found: Estimate, capacities: dict[str, float]) -> dict[int, float]:
    """How much each flow misses of what it asks for and its devices and their links move, by its row."""
    missed = {}
    for row, (source, destination, asked, given) in enumerate(
        zip(
            flows["source"],
            flows["destination"],
            np.nan_to_num(asked_gbytes_per_s(flows), nan=np.inf),
            found.flows["gbytes_per_s"],
            strict=True,
        )
    ):
        own = [
            capacities[edge]
            for name, edge in (
                (source, f"{source}->{routes.uppers.get(source)}"),
                (destination, f"{routes.uppers.get(destination)}->{destination}"),
            )
            if routes.part(name) == "device"
        ]
        could = min([asked, *own])
        if given < could * (1 - _LEAST_GAIN) and np.isfinite(could):
            missed[row] = could - given
    return missed


def _moves(routes: Routes, found: Estimate, short: dict[int, float]) -> Iterator[tuple[str, str]]:
    """Devices of these flows, each with every other position; those of flows that miss most first."""
    targets = _targets(routes)
    order = sorted(short, key=lambda row: -short[row])
    ends = list(zip(found.flows["source"], found.flows["destination"], strict=True))
    devices = dict.fromkeys(name for row in order for name in ends[row] if _is_device(routes, name))
    movable = sorted(devices, key=lambda name: routes.kind(name) in ("gpu", "accelerator"))
    # The first position of every device comes before the second of any. GPUs come last: they are hard to move.
    for step in range(1, len(targets)):
        for device in movable:
            yield device, targets[(targets.index(_place(routes, device)) + step) % len(targets)]


def _targets(routes: Routes) -> list[str]:
    """Switches, stacks and hosts with a device below them, or below one of their root ports."""
    return list(dict.fromkeys(_place(routes, name) for name in routes.nodes if _is_device(routes, name)))


def _is_device(routes: Routes, name: str) -> bool:
    return routes.part(name) == "device" and name in routes.uppers


def _place(routes: Routes, device: str) -> str:
    """The switch, stack or host that a device sits below; root ports have one device each."""
    upper = routes.uppers[device]
    return routes.uppers.get(upper, upper) if routes.part(upper) == "root-port" else upper


class _Trials:
    """Estimates of the flows on trees with a device in another position."""

    def __init__(self, routes: Routes, flows: pd.DataFrame, found: Estimate) -> None:
        self.routes = routes
        self.capacities = capacities_on(routes)
        self._method = found.method
        self._through_bars = through_bars_of(flows)
        self._names = flows["name"].astype(str).tolist()
        self._asked = asked_gbytes_per_s(flows)
        self._ends = list(zip(flows["source"], flows["destination"], strict=True))
        nodes = pd.Index(list(routes.nodes))
        keys = ("source", "destination")
        self._at = [nodes.get_indexer(pd.Index(flows[key])).astype(np.uint32).tobytes() for key in keys]
        self._limited = np.array([self._limit(routes, row, self.capacities) for row in range(len(self._ends))])

    def bandwidth(self, device: str, below: str) -> np.ndarray:
        """The bandwidth of each flow with a device in another position."""
        moved = self.routes.moved(device, below)
        link = self.routes.uppers[device]
        capacities = ChainMap(
            {
                f"{below}->{device}": self.capacities[f"{link}->{device}"],
                f"{device}->{below}": self.capacities[f"{device}->{link}"],
            },
            self.capacities,
        )
        rates = self._limited.copy()
        for row, ends in enumerate(self._ends):
            if device in ends:
                rates[row] = self._limit(moved, row, capacities)
        asked = np.where(np.isnan(rates), np.inf, rates).tobytes()
        tree = without_engines(moved.handle, self._through_bars)
        shares = _core.fabric_estimate(tree, self._at[0], self._at[1], asked, self._names, self._method)
        return np.frombuffer(shares.bandwidth)

    def _limit(self, routes: Routes, row: int, capacities: Mapping[str, float]) -> float:
        return limited(routes, *self._ends[row], float(self._asked[row]), capacities)


def _row(
    found: Estimate, row: int, moves: list[tuple[tuple[str, str], np.ndarray]], now: np.ndarray
) -> list[object]:
    """The best of the moves for a flow: by its own gain, then by that of all."""
    flow = found.flows.loc[row]
    best = max(moves, key=lambda move: (round(move[1][row], 6), round(move[1].sum(), 6)), default=None)
    head = [flow["flow"], flow["gbytes_per_s"], flow["limit"]]
    if best is None or best[1][row] <= now[row] * (1 + _LEAST_GAIN):
        return [*head, None, None, None, None, None]
    (device, below), then = best
    return [*head, device, below, then[row], then[row] - now[row], then.sum() - now.sum()]
