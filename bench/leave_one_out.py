"""How well a machine is predicted that the card's constants were not fitted on: the table of `docs/concepts/trust.md`.

For each machine, with all its IOMMU and NUMA variants: fit the card's constants on the full runs of the other
machines, calibrate each variant on its pack alone, simulate the published suite, and score the rows outside the pack.
"""

import argparse
import os
import re
import sys
from pathlib import Path
from typing import Any

import pcielab
from pcielab.calibrate import Measured, calibrate, read_measured, read_pack
from pcielab.calibrate.card import fit_card
from pcielab.importers import import_pcie_bench
from pcielab.profiles import names
from pcielab.store import open_store
from pcielab.validate import Score, score, write_bands

PAGE = Path("docs/concepts/trust.md")
START, END = "<!-- leave one out: make leave-one-out -->", "<!-- end of leave one out -->"

MACHINES = {"snb": "snb", "ib": "ib-000", "hsw2620": "hsw2620"}
"""Machines without idle states, and the variant of each that the card's constants are fitted on."""


def machine_of(system: str) -> str:
    """The machine that a system is a variant of."""
    return system.split("-")[0]
