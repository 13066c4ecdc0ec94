"""Estimate each flow's share when all run at once, and who limits whom."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pcielab import _core
from pcielab.fabric.answers import InfluenceRow, RoundTables
from pcielab.fabric.listed_shares import ROUNDING, Method, bar_ends, described, edges_of
from pcielab.library.fabrics.load import Fabric, RecordedFabric
from pcielab.notebook import Pictured


@dataclass(frozen=True)
class Estimate(Pictured):
    """Result of an estimator.

    Attributes:
        flows: One row per flow: flow, source, destination, standalone_gbytes_per_s, gbytes_per_s, limit (the edge
            that limits it; None if only the flow itself does), fits (whether it gets all that it asks for:
            its standalone bandwidth, which without a declared one is what its path carries).
        edges: One row per direction of a link: edge, capacity_gbytes_per_s, load_gbytes_per_s, flows.
    """

    method: Method
    flows: pd.DataFrame
    edges: pd.DataFrame


def estimate(fabric: Fabric | RecordedFabric, flows: pd.DataFrame, method: Method = "max-min") -> Estimate:
    """Estimate the share of each of `flows` (see `Fabric.flows`) on a fabric of a file or of a run's manifest.

    Raises:
        InputError: A flow cannot exist; the message names it.
    """
    arguments = _arguments(fabric, flows)
    found = _core.fabric_estimate(*arguments, method)
    edges = pd.DataFrame(edges_of(arguments[0]))
    edges["load_gbytes_per_s"] = np.frombuffer(found.load)
    edges["flows"] = np.frombuffer(found.crossing, dtype=np.uint32)
    limit = np.frombuffer(found.limit, dtype=np.int32)
    names = np.array([*edges["edge"], None], dtype=object)
    shares = pd.DataFrame(
        {
            "flow": flows["name"].to_numpy(),
            "source": flows["source"].to_numpy(),
            "destination": flows["destination"].to_numpy(),
            "standalone_gbytes_per_s": np.frombuffer(found.standalone),
            "gbytes_per_s": np.frombuffer(found.bandwidth),
            "limit": names[limit],
        }
    )
    shares["fits"] = shares["gbytes_per_s"] >= shares["standalone_gbytes_per_s"] * (1 - ROUNDING)
    return Estimate(method, shares, edges)


def rounds(fabric: Fabric, flows: pd.DataFrame) -> list[RoundTables]:
    """The rounds of edge constraints relaxing, each with its table of edges, its constraints and bandwidths."""
    described: list[RoundTables] = json.loads(_core.fabric_rounds(*_arguments(fabric, flows)))
    return described


def influences(fabric: Fabric | RecordedFabric, flows: pd.DataFrame, method: Method = "max-min") -> pd.DataFrame:
    """Changes of shares if one flow stopped, or one limiting edge were twice as wide.

    The columns are the keys of `InfluenceRow`.
    """
    rows = json.loads(_core.fabric_influence(*_arguments(fabric, flows), method))
    return pd.DataFrame(rows, columns=list(InfluenceRow.__annotations__))


def _arguments(fabric: Fabric | RecordedFabric, flows: pd.DataFrame) -> tuple[str, bytes, bytes, bytes, list[str]]:
    nodes = pd.Index(fabric.node_names)
    ends = [
        nodes.get_indexer(pd.Index(flows[key])).astype(np.uint32).tobytes() for key in ("source", "destination")
    ]
    standalone = flows["standalone_gbytes_per_s"].fillna(np.inf).to_numpy(dtype=np.float64).tobytes()
    return (
        described(fabric, through_bars_of(flows)),
        ends[0],
        ends[1],
        standalone,
        flows["name"].astype(str).tolist(),
    )


def through_bars_of(flows: pd.DataFrame) -> set[str]:
    """The devices whose BARs these flows use (see `bar_ends`)."""
    if "primitive" not in flows:
        return set()
    used = flows[flows["primitive"] != "stream"][["primitive", "source", "destination"]]
    return bar_ends(used.drop_duplicates().itertuples(index=False, name=None))
