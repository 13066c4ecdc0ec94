"""`pcielab fabric estimate` as people run it: flows from a Parquet file over ten thousand edges, shares as CSV."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from processes import PCIELAB, usage_of

NODES = 5_001
BELOW = 9
"""A tree of ten thousand edges, with nine nodes below each inner node."""


@dataclass(frozen=True)
class EstimateCommand:
    """One run of the command."""

    flows: int
    method: str
    seconds: float
    cpu_seconds: float


def estimates(counts: tuple[int, ...] = (10_000, 100_000, 1_000_000)) -> Iterator[EstimateCommand]:
    """Run both estimators on each number of flows."""
    with tempfile.TemporaryDirectory() as directory:
        fabric = Path(directory) / "tree.toml"
        fabric.write_text(_tree(np.random.default_rng(1)), encoding="utf-8")
        for count in counts:
            flows = Path(directory) / f"{count}.parquet"
            _flows(np.random.default_rng(2), count).to_parquet(flows)
            for method in ("max-min", "ecr"):
                yield _run(fabric, flows, count, method)


def _tree(draws: np.random.Generator) -> str:
    lines = ['name = "tree"', 'title = "Ten thousand edges"', "mps_bytes = 128", '[provenance]\nsource = "drawn"']
    lines += [f'[[node]]\nname = "n{node}"\nkind = "external-switch"' for node in range(NODES)]
    for node in range(1, NODES):
        down, up = 4 + 12 * draws.random(2)
        lines.append(f'[[link]]\nupper = "n{(node - 1) // BELOW}"\nlower = "n{node}"')
        lines.append(f"down_gbytes_per_s = {down}\nup_gbytes_per_s = {up}")
    return "\n".join(lines) + "\n"


def _flows(draws: np.random.Generator, count: int) -> pd.DataFrame:
    source = draws.integers(NODES, size=count)
    destination = (source + draws.integers(1, NODES, size=count)) % NODES
    names = np.array([f"n{node}" for node in range(NODES)])
    standalone = 0.001 + 0.1 * draws.random(count)
    return pd.DataFrame(
        {"source": names[source], "destination": names[destination], "standalone_gbytes_per_s": standalone}
    )


def _run(fabric: Path, flows: Path, count: int, method: str) -> EstimateCommand:
    options = ["--flows", str(flows), "--method", method, "--format", "csv"]
    used = usage_of([PCIELAB, "fabric", "estimate", str(fabric), *options], stderr=None)
    return EstimateCommand(count, method, used.seconds, used.cpu_seconds)
