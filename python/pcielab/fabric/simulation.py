"""Simulate flows on a fabric: bandwidths, loads, and latencies by phase."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pandas as pd

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import refusal
from pcielab.fabric.flow_numbers import PHASES, TIMES, departures, fitting
from pcielab.fabric.listed_shares import edges_of
from pcielab.library.fabrics.flows import cells_of, checked_frame
from pcielab.library.fabrics.load import Fabric, RecordedFabric
from pcielab.library.fabrics.parts import Discipline
from pcielab.notebook import Pictured
from pcielab.percentiles import percentile
from pcielab.wording import shown
from pcielab.work.options import check_seed


def requests_of(times: bytes) -> pd.DataFrame:
    """The frame of the compiled half's array of `TIMES` per request, with the total of the phases."""
    frame = pd.DataFrame(np.frombuffer(times).reshape(-1, len(TIMES)), columns=list(TIMES))
    frame["total"] = frame[list(PHASES)].sum(axis=1)
    return frame


class Requests(Mapping[str, pd.DataFrame]):
    """The requests of flows by name; a frame, which takes as long as many requests, is made when asked for."""

    def __init__(self, names: Iterable[str], times: Iterable[bytes]) -> None:
        self._times = dict(zip(names, times, strict=True))

    def __getitem__(self, name: str) -> pd.DataFrame:
        return requests_of(self._times[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._times)

    def __len__(self) -> int:
        return len(self._times)

    def finished(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """The flows of which a request finished, one by one."""
        return ((name, requests_of(times)) for name, times in self._times.items() if times)


def _times_of(times: bytes) -> dict[str, "np.ndarray[Any, Any]"]:
    """The columns of `requests_of`, without a frame."""
    rows = np.frombuffer(times).reshape(-1, len(TIMES))
    columns = {name: rows[:, number] for number, name in enumerate(TIMES)}
    return columns | {"total": np.nansum(rows[:, [TIMES.index(phase) for phase in PHASES]], axis=1)}


def summary_of(requests: pd.DataFrame | dict[str, "np.ndarray[Any, Any]"]) -> dict[str, float]:
    """Number of requests, average and percentiles of their total, and the average of each phase.

    Also `reached_ns`: average time from submission until the command reaches the device; NaN without commands.

    Args:
        requests: A frame of requests, or its columns.
    """
    total = np.asarray(requests["total"])
    quantiles = {f"p{share}_ns": percentile(total, share / 100) for share in (50, 90, 99)}
    phases = {f"{phase}_ns": _mean(np.asarray(requests[phase])) for phase in PHASES}
    reached = {"reached_ns": _mean(np.asarray(requests["reached"]) - np.asarray(requests["submitted"]))}
    return {"requests": len(total), "average_ns": _mean(total), **quantiles, **phases, **reached}


def _summaries(requests: Sequence[bytes]) -> pd.DataFrame:
    """`summary_of` the requests of each flow, without a dict for each."""
    columns = [*summary_of(_times_of(b""))]
    found = np.empty((len(requests), len(columns)))
    for row, times in zip(found, requests, strict=True):
        row[:] = [*summary_of(_times_of(times)).values()]
    return pd.DataFrame(found, columns=columns).astype({"requests": "int64"})


def _mean(values: "np.ndarray[Any, Any]") -> float:
    """The mean of the values that are known; NaN without any."""
    known = ~np.isnan(values)
    return float(np.where(known, values, 0.0).sum() / known.sum()) if known.any() else float("nan")


DISCIPLINES: tuple[Discipline, ...] = get_args(Discipline)
LEAST_MICROSECONDS, MOST_MICROSECONDS = 1e-3, 1e6
"""Range of the time to count: at most a second, since memory grows with the number of requests."""


@dataclass(frozen=True)
class Simulated(Pictured):
    """Result of a simulation.

    Attributes:
        flows: One row per flow: flow, gbytes_per_s, in_flight (requests, on average; 0 for streams), requests,
            average_ns, p50_ns, p90_ns, p99_ns of its requests (NaN for streams and without finished requests),
            host_ns, fabric_ns, device_ns: average of each phase; fits: whether the flow gets its declared
            standalone bandwidth (None if it declares none); and note: None, or why the flow is not steady (both:
            `pcielab.fabric.flow_numbers`).
        edges: One row per direction of a link: edge, capacity_gbytes_per_s, load_gbytes_per_s.
        requests: Frames by flow name with one row per request in completion order, in ns: submitted, reached (when
            its command reached the device; NaN for MMIO), host, fabric, device, and their total.
        tlp_hops: TLPs times links crossed.
        warm_up_us: Time before counting began.
        counted_us: Time that was counted.
    """

    flows: pd.DataFrame
    edges: pd.DataFrame
    requests: Requests
    tlp_hops: int
    warm_up_us: float
    counted_us: float


@refuses_wrong_types
def simulate(
    fabric: Fabric | RecordedFabric,
    flows: pd.DataFrame,
    *,
    discipline: Discipline = "per-destination",
    warm_up_us: float | None = None,
    duration_us: float = 200.0,
    seed: int = 1,
    stop: _core.Stop | None = None,
) -> Simulated:
    """Simulate `flows` (see `Fabric.flows`) TLP by TLP.

    Args:
        fabric: The fabric, of a file or of a run's manifest.
        flows: The flows.
        discipline: Unit that has its own credits at every port: flow, destination, or link.
        warm_up_us: Time before counting begins; None: until every request in flight has returned three times, 50
            us to 100 ms.
        duration_us: Time to count; without `warm_up_us` the least time: counting then ends when the slowest
            request has returned once more.
        seed: Seed of random arrivals.
        stop: Stops the simulation on request; without it, Ctrl-C does.

    Raises:
        InputError: The simulation was stopped, a flow cannot exist, or no request ended in the counted time; the
            message names it.
    """
    check_options(duration_us, warm_up_us, seed)
    flows = checked_frame(flows, "flows")
    options = {
        "warm_up_ns": None if warm_up_us is None else warm_up_us * 1e3,
        "duration_ns": duration_us * 1e3,
        "discipline": discipline,
        "seed": seed,
    }
    found = _core.fabric_simulate(fabric.handle, cells_of(flows), json.dumps(options), stop)
    requests = found.requests
    shares = pd.DataFrame(
        {
            "flow": flows["name"].to_numpy(),
            "gbytes_per_s": np.frombuffer(found.bandwidth),
            # Turns minus zero, of streams, into zero.
            "in_flight": np.frombuffer(found.in_flight) + 0.0,
        }
    )
    is_on = flows["standalone_gbytes_per_s"] != 0
    if is_on.any() and not shares["gbytes_per_s"].any():
        first, *others = map(str, flows["name"][is_on])
        whose = f"flow {shown(first)}{f' and of {len(others)} more' if others else ''}"
        raise refusal(
            "out-of-range",
            f"--duration-us {duration_us:g}: no request of {whose} ended in the counted time: give a longer one",
        )
    table = pd.concat([shares, _summaries(requests)], axis=1)
    table["fits"] = fitting(table.assign(standalone_gbytes_per_s=flows["standalone_gbytes_per_s"].to_numpy()))
    table["note"] = departures(table.assign(size_bytes=flows["size_bytes"].to_numpy()))
    edges = pd.DataFrame(edges_of(fabric.handle))
    edges["load_gbytes_per_s"] = np.frombuffer(found.load)
    by_name = Requests(map(str, flows["name"]), requests)
    return Simulated(table, edges, by_name, found.tlp_hops, found.warm_up_ns / 1e3, found.counted_ns / 1e3)


def check_options(duration_us: float, warm_up_us: float | None, seed: int) -> None:
    """Refuse times and a seed that are out of range."""
    if not LEAST_MICROSECONDS <= duration_us <= MOST_MICROSECONDS:
        allowed = f"{LEAST_MICROSECONDS:g} to {MOST_MICROSECONDS:.0f}"
        raise refusal("out-of-range", f"--duration-us {duration_us:.12g}: give microseconds, {allowed}")
    if warm_up_us is not None and not 0 <= warm_up_us <= MOST_MICROSECONDS:
        raise refusal(
            "out-of-range", f"--warm-up-us {warm_up_us:.12g}: give microseconds, 0 to {MOST_MICROSECONDS:.0f}"
        )
    check_seed(seed)


def check_flows(fabric: Fabric, flows: pd.DataFrame) -> None:
    """Refuse flows that cannot exist on a fabric, without simulating them."""
    _core.fabric_check_traffic(fabric.handle, cells_of(checked_frame(flows, "flows")))
