"""The trace of a `Runtime`: every request with its phases, to examine or keep in a store."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from pcielab import _core
from pcielab.errors import refusal
from pcielab.fabric.flow_numbers import PHASES
from pcielab.fabric.run import manifest_of
from pcielab.fabric.simulation import summary_of
from pcielab.fabric.stored import distributions_of, scalars_of, series_of
from pcielab.library.fabrics.load import Fabric
from pcielab.library.fabrics.parts import Discipline
from pcielab.percentiles import percentile
from pcielab.work.running import this_computer

Phase: TypeAlias = Literal["host", "fabric", "device", "total"]
_OUTWARDS = ("d2h", "d2d-write")


@dataclass(frozen=True)
class Trace:
    """Every request that is done.

    Attributes:
        requests: One row per request in completion order: request (its number), primitive, queue, host_name,
            device_name, peer_name (the other device of a transfer between two), size_bytes; and in ns submitted,
            reached (when its command reached the device; NaN for MMIO), its phases host (queued there, software
            included), fabric, device, and their total.
        fabric: The fabric that they crossed.
        discipline: Unit that had its own credits there.
    """

    requests: pd.DataFrame
    fabric: Fabric
    discipline: Discipline

    @property
    def gbytes_per_s(self) -> float:
        """Payload over the time from the first submission to the last completion."""
        done = (self.requests["submitted"] + self.requests["total"]).max()
        return float(self.requests["size_bytes"].sum() / (done - self.requests["submitted"].min()))

    def summary(self) -> pd.DataFrame:
        """Average and percentiles (nearest rank) of each phase and of the total, ns: one row each."""
        rows = []
        for phase in (*PHASES, "total"):
            times = self.requests[phase].to_numpy()
            if not len(times):
                continue
            ranks = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "longest": 1.0}
            tails = {f"{name}_ns": percentile(times, rank) for name, rank in ranks.items()}
            rows.append({"phase": phase, "requests": len(times), "average_ns": float(times.mean())} | tails)
        return pd.DataFrame(rows)

    def cdf(self, phase: Phase = "total") -> pd.DataFrame:
        """The cumulative distribution of a phase: ns, and the share of requests that took at most that long."""
        times, counts = np.unique(self.requests[phase].to_numpy(), return_counts=True)
        return pd.DataFrame({"ns": times, "share": counts.cumsum() / max(counts.sum(), 1)})

    def save(self, path: str | Path, *, title: str = "a program's requests", overwrite: bool = False) -> None:
        """Keep the trace in a store, which `pcielab report`, `compare` and `export` accept.

        The requests of one queue and primitive to one device form a flow.

        Args:
            path: The store.
            title: Title of the run, in a few words.
            overwrite: Replace an existing store.

        Raises:
            InputError: The trace is empty, or the store exists or cannot be written.
        """
        if self.requests.empty:
            raise refusal("missing", "trace: has no finished request: call run() before saving")
        record = {"id": 0, "family": "trace", "name": title, "status": "ok", **self._recorded(title)}
        manifest = manifest_of(self.fabric, title, 1) | this_computer()
        with _core.StoreWriter.create(path, json.dumps(manifest), overwrite=overwrite) as store:
            store.write_test(json.dumps(record))

    def _recorded(self, title: str) -> dict[str, Any]:
        """Parameters and numbers of the trace as a test."""
        flows = dict(self._flows())
        requests = {name: rows for name, (_, rows) in flows.items()}
        asked = [flow for flow, _ in flows.values()]
        start, end = self.requests["submitted"].min(), (self.requests["submitted"] + self.requests["total"]).max()
        found = pd.DataFrame(
            [
                {"flow": name, "gbytes_per_s": rows["size_bytes"].sum() / (end - start), **summary_of(rows)}
                for name, rows in requests.items()
            ]
        )
        parameters = {
            "discipline": self.discipline,
            "duration_us": (end - start) / 1e3,
            "flows": json.dumps(asked, sort_keys=True, separators=(",", ":")),
            "series": title,
            "sweep": None,
            "value": None,
            "warm_up_us": 0.0,
        }
        return {
            "parameters": json.dumps(parameters),
            "scalars": scalars_of(found, pd.DataFrame(), requests),
            "distributions": distributions_of(requests),
            "series": series_of(requests),
        }

    def _flows(self) -> Iterator[tuple[str, tuple[dict[str, Any], pd.DataFrame]]]:
        by = ["queue", "primitive", "device_name", "peer_name"]
        for (queue, primitive, device, peer), rows in self.requests.groupby(by, dropna=False, sort=True):
            other = peer if isinstance(peer, str) else rows["host_name"].iloc[0]
            ends = (device, other) if primitive in _OUTWARDS else (other, device)
            name = f"queue {queue}: {primitive} {ends[0]} to {ends[1]}"
            sizes = rows["size_bytes"].unique()
            flow = {
                "name": name,
                "source": ends[0],
                "destination": ends[1],
                "primitive": primitive,
                "size_bytes": int(sizes[0]) if len(sizes) == 1 else None,
            }
            yield name, (flow, rows)
