"""How many reads of 64 B a second the cocotb bench of the core does: what ``pcielab-rtl`` is compared to."""

import json
import os
import time
from pathlib import Path
from typing import Any

import cocotb

import registers as r
from address_list import AddressList
from core import core_and_host
from host import Manners
from simulator import run_bench

RESULT = "PCIELAB_RTL_READS"
"""Environment variable with the path that the result is written to."""
LENGTHS = (300, 2300)
"""Two lengths: only what the longer one takes more is counted."""
ROUND_TRIP_CLOCKS = 100


@cocotb.test()
async def reads_a_second(dut: Any) -> None:
    """Of processor time, bytes checked, the host a hundred clocks away."""
    core, host = await core_and_host(dut)
    host.manners = Manners(least_delay=ROUND_TRIP_CLOCKS, most_delay=ROUND_TRIP_CLOCKS)
    took = []
    for reads in LENGTHS:
        host.requests = []
        await core.describe(AddressList(size=64, window=8192), "bw-rd", reads, host, outstanding=64)
        start = time.process_time()
        assert await core.run() == r.RESULT_COMPLETE
        took.append(time.process_time() - start)
    speed = (LENGTHS[1] - LENGTHS[0]) / (took[1] - took[0])
    Path(os.environ[RESULT]).write_text(json.dumps({"reads_per_s": speed}))


def reads_per_s(result: Path) -> float:
    """Builds the core with its bench, and runs it."""
    os.environ[RESULT] = str(result.resolve())
    run_bench("pcielab_core", "reads", {"DATA_WIDTH": 256, "TAGS": 64})
    return float(json.loads(result.read_text())["reads_per_s"])
