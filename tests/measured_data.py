"""The published pcie-bench measurements, where PCIELAB_DATA names them."""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("PCIELAB_DATA", ""))
SYSTEMS = sorted(DATA.glob("nfp6000-*"))
"""A folder for each of the twelve measured systems."""
PACK = DATA.parent / "calibration-pack.csv"
needs_measurements = [
    pytest.mark.published,
    pytest.mark.skipif(not SYSTEMS, reason="PCIELAB_DATA does not name the published measurements"),
]
