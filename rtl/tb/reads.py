"""Reads of 64 B per second in the core's cocotb bench, the baseline of ``pcielab-rtl``."""

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
"""Environment variable with the path of the result."""
LENGTHS = (300, 2300)
"""Two lengths: the difference of their times counts."""
ROUND_TRIP_CLOCKS = 100


@cocotb.test()
async def reads_a_second(dut: Any) -> None:
    """Per second of processor time, with bytes checked and a round trip of 100 clocks."""
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
    """Build the core with its bench, and run it."""
    os.environ[RESULT] = str(result.resolve())
    run_bench("pcielab_core", "reads", {"DATA_WIDTH": 256, "TAGS": 64})
    return float(json.loads(result.read_text())["reads_per_s"])
