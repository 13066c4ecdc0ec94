"""Figure 4 of the paper with the FPGA core: its RTL and the simulated NetFPGA-SUME on one host.

The grey lines are their bounds. `make rtl-figure` writes `docs/images/rtl-bandwidth-by-size.svg`, which
`rtl/README.md` shows.
"""

import tempfile
from pathlib import Path

from pcielab import load_suite, run, simulate
from pcielab.report import figures, save_figure

ROOT = Path(__file__).parents[1]
SYSTEM = "netfpga-hsw"
SUITE = """name = "sizes"
title = "Bandwidth over transfer size"
[provenance]
source = "figure 4 of the pcie-bench paper"
[[group]]
family = "bw_dma_sz_sweep"
loop = ["test", "size"]
tests = ["BW_DMA_RD", "BW_DMA_WR", "BW_DMA_RW"]
sizes = [64, 96, 128, 192, 256, 257, 320, 384, 448, 512, 513, 640, 768, 896, 1024, 1280, 1536, 1792, 2048]
windows = ["8K"]
caches = ["host-warm"]
patterns = ["random"]
transactions = 40000
"""


def main() -> None:
    """Run both and draw them."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "sizes.toml"
        path.write_text(SUITE)
        suite = load_suite(str(path))
        core = run(suite, "rtl", Path(directory) / "pcielab-fpga.db", profile=SYSTEM, sets=["link.tags=64"])
        card = simulate(SYSTEM, suite, Path(directory) / "netfpga-sume.db")
        figure = figures.bandwidth_by_size([core, card])
        save_figure(figure, ROOT / "docs" / "images" / "rtl-bandwidth-by-size.svg")


if __name__ == "__main__":
    main()
