"""The README's picture: bound, simulation and measurement, in three panels.

    PCIELAB_DATA=FOLDER .venv/bin/python bench/readme_figure.py

writes `docs/images/bound-simulated-measured.png`. The measured points are data of the pcie-bench paper (SIGCOMM
2018). The systems are calibrated on rows of these machines; `docs/concepts/trust.md` has predictions of others.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd

import pcielab
from pcielab.analysis.explain import explain_run
from pcielab.formats.importers import import_pcie_bench
from pcielab.report import save_figure
from pcielab.store import Store

ROOT = Path(__file__).parents[1]
HASWELL, IVY_BRIDGE, SANDY_BRIDGE = "hsw2620", "ib-000-nosp", "snb"
FOLDERS = {
    HASWELL: "nfp6000-1.2GHz_hsw-Xeon-E5-2620v3_dell-t630",
    IVY_BRIDGE: "nfp6000-1.2GHz_ib-Xeon-E5-2620v2_dell-t620-s0-s0-s0-iommu-nosp",
    SANDY_BRIDGE: "nfp6000-1.2GHz_snb-Xeon-E5-2630_dell-t620",
}
SERIES = ("bound", "simulated", "measured")
COLOURS = alt.Scale(domain=SERIES, range=["#9aa0a6", "#1f6feb", "#d1461f"])
WINDOW_LABEL = "datum.value >= 1048576 ? datum.value / 1048576 + ' MiB' : datum.value / 1024 + ' KiB'"
PANEL = {"width": 290, "height": 220}


def main() -> None:
    """Run the three systems, read their measurements, and draw."""
    with tempfile.TemporaryDirectory() as folder:
        runs = {name: _runs(name, Path(folder)) for name in FOLDERS}
        panels = [
            _panel(
                _rows(runs[HASWELL], "bandwidth", name="BW_DMA_RD", cache="host-warm", window_bytes=8192),
                "size_bytes",
                ("read bandwidth, Gb/s", "Haswell: reads dip just above 256, 512, 768 B"),
            ),
            _panel(
                _rows(runs[IVY_BRIDGE], "bandwidth", name="BW_DMA_RD", cache="host-warm", size_bytes=64),
                "window_bytes",
                ("bandwidth of 64 B reads, Gb/s", "Ivy Bridge: the window outgrows the IO-TLB"),
            ),
            _panel(
                _rows(runs[SANDY_BRIDGE], "median", name="LAT_CMD_RD", cache="host-warm", size_bytes=8),
                "window_bytes",
                ("median latency of 8 B reads, ns", "Sandy Bridge: the window outgrows the cache"),
            ),
        ]
        save_figure(alt.hconcat(*panels), ROOT / "docs" / "images" / "bound-simulated-measured.png")


def _runs(name: str, folder: Path) -> dict[str, Store]:
    measured = folder / f"{name}-measured.db"
    import_pcie_bench(Path(os.environ["PCIELAB_DATA"]) / FOLDERS[name], measured)
    return {
        "simulated": pcielab.simulate(name, pcielab.load_suite("paper"), folder / f"{name}.db"),
        "measured": pcielab.open_store(measured),
    }


def _rows(runs: dict[str, Store], metric: str, **parameters: Any) -> pd.DataFrame:
    """The rows with these parameters of both runs, and the bounds of the simulated one."""
    parts = []
    for series, store in runs.items():
        frame = store.scalars.query("pattern == 'random' and host_offset_bytes == 0 and device_offset_bytes == 0")
        for key, value in parameters.items():
            frame = frame[frame[key] == value]
        parts.append(frame.assign(series=series, value=frame[metric]))
    simulated = parts[0]
    if metric == "bandwidth":
        bounds = {row.test: row.answer.gbps for row in explain_run(runs["simulated"]).rows}
        parts.append(simulated.assign(series="bound", value=simulated["id"].map(bounds)))
    return pd.concat(parts).dropna(subset=["value"])


def _panel(rows: pd.DataFrame, key: str, words: tuple[str, str]) -> alt.LayerChart:
    sizes = alt.X("size_bytes:Q", title="transfer size, bytes")
    windows = alt.X(
        "window_bytes:Q",
        title="window",
        scale=alt.Scale(type="log", base=2),
        axis=alt.Axis(values=[1 << power for power in range(12, 27, 2)], labelExpr=WINDOW_LABEL),
    )
    base = alt.Chart(rows).encode(
        x=sizes if key == "size_bytes" else windows,
        y=alt.Y("value:Q", title=words[0], scale=alt.Scale(zero="latency" not in words[0])),
        color=alt.Color(
            "series:N", scale=COLOURS, title=None, legend=alt.Legend(orient="bottom", direction="horizontal")
        ),
    )
    lines = base.mark_line().transform_filter(alt.datum.series != "measured")
    points = base.mark_point(filled=True, size=36).transform_filter(alt.datum.series == "measured")
    return alt.layer(lines, points).properties(title=words[1], **PANEL)


if __name__ == "__main__":
    main()
