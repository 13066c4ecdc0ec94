"""Measures what the core itself can do, and renews a table of ``README.md``: ``make rtl-throughput``.

The host of the benches takes a beat in each clock and answers each read whole, ROUND_TRIP_CLOCKS later, a beat in
each clock. There is no link, no hard block and no descriptor: beats, tags and clocks are the only limits.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import cocotb

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import registers as r  # noqa: E402
from address_list import AddressList  # noqa: E402
from clocking import CLOCK_NS  # noqa: E402
from core import core_and_host  # noqa: E402
from host import Manners  # noqa: E402
from readme import table, write_section  # noqa: E402
from simulator import run_bench  # noqa: E402

RESULT = "PCIELAB_RTL_THROUGHPUT"
"""Environment variable with the path of the result."""
ROUND_TRIP_CLOCKS = 100
WIDTHS = (256, 512)
TAGS = 256
SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
OPERATIONS = {"bw-rd": "reads", "bw-wr": "writes"}


@cocotb.test()
async def throughput(dut: Any) -> None:
    """Payload bandwidth of reads and writes of each size, with bytes checked, MPS 256 B and MRRS 512 B."""
    core, host = await core_and_host(dut)
    host.manners = Manners(least_delay=ROUND_TRIP_CLOCKS, most_delay=ROUND_TRIP_CLOCKS)
    found = {}
    for operation in OPERATIONS:
        for size in SIZES:
            host.requests, host.written = [], {}
            count = 300_000 // size + 300
            await core.describe(AddressList(size=size, window=1 << 16), operation, count, host, outstanding=TAGS)
            # With all tags in flight, the last completion waits for the beats of all others.
            await core.write(r.TIMEOUT, 50_000)
            assert await core.run() == r.RESULT_COMPLETE
            elapsed_ns = CLOCK_NS * await core.read_wide(r.ELAPSED_LO)
            found[f"{operation} {size}"] = 8 * size * count / elapsed_ns
    Path(os.environ[RESULT]).write_text(json.dumps(found))


def measured(width: int) -> dict[str, float]:
    """The bandwidths of a core in Gb/s, by operation and size."""
    with tempfile.TemporaryDirectory() as directory:
        os.environ[RESULT] = str(Path(directory, "result.json"))
        run_bench("pcielab_core", "throughput", {"DATA_WIDTH": width, "TAGS": TAGS})
        found: dict[str, float] = json.loads(Path(os.environ[RESULT]).read_text())
    return found


def main() -> int:
    """Measure both widths."""
    found = {width: measured(width) for width in WIDTHS}
    head = ["bytes", *(f"{what}, {width} bits" for width in WIDTHS for what in OPERATIONS.values())]
    rows = [
        [f"{size:,}", *(f"{found[width][f'{name} {size}']:.1f} Gb/s" for width in WIDTHS for name in OPERATIONS)]
        for size in SIZES
    ]
    made = table(head, rows)
    print(made)
    write_section("throughput", made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
