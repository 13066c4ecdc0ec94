"""The page of a twin's worst rows."""

from pathlib import Path

from pcielab import load_suite, open_store, resolve, simulate
from pcielab.analysis.validate import score
from pcielab.report.worst import draw_worst

SUITE = """\
name = "small"
title = "Small"
[provenance]
source = "me"
[[group]]
family = "bw_dma_sz_sweep"
loop = ["size"]
tests = ["BW_DMA_RD"]
sizes = [64, 128]
windows = ["8K"]
caches = ["host-warm"]
patterns = ["random"]
transactions = 20000
"""


def test_the_picture_of_the_worst_needs_no_network(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SUITE)
    for name in ("snb", "snb-iommu"):
        simulate(resolve(name), load_suite(str(tmp_path / "small.toml")), tmp_path / f"{name}.db")
    page = draw_worst(score(open_store(tmp_path / "snb.db"), open_store(tmp_path / "snb-iommu.db")))
    assert 'src="http' not in page
    assert "Largest errors of the twin" in page
