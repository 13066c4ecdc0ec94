"""The recorder: every latency in its bin, the first ones one by one, and their sum."""

import random
from collections import Counter
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import clocks, start, until

RECORDS = 4096
BINS = 4096


async def looked_up(dut: Any, address: Any, value: Any, index: int) -> int:
    """Read an entry of a memory, a clock after its address."""
    address.value = index
    await clocks(dut, 2)
    return int(value.value)


@cocotb.test()
async def every_sample_counts(dut: Any) -> None:
    """Samples of all sizes, in every clock and with gaps, many equal; cleared in between."""
    await start(dut, clear=0, bin_shift=0, sample_valid=0, sample=0, record_address=0, bin_address=0)
    await until(dut, lambda: bool(dut.ready.value))
    for shift, gaps, count in ((0, 0.0, 300), (3, 0.4, 200), (0, 0.0, RECORDS + 50)):
        dut.bin_shift.value = shift
        dut.clear.value = 1
        await FallingEdge(dut.clk)
        dut.clear.value = 0
        assert not dut.ready.value
        await until(dut, lambda: bool(dut.ready.value))
        assert int(dut.samples.value) == 0
        samples = []
        while len(samples) < count:
            valid = random.random() >= gaps
            sample = random.choice([0, 7, 8, 100, 101, 4095, 4096, 40_000, (1 << 32) - 1, random.randrange(500)])
            if random.random() < 0.5 and samples:
                sample = samples[-1]
            dut.sample_valid.value, dut.sample.value = int(valid), sample
            await FallingEdge(dut.clk)
            samples += [sample] * valid
        dut.sample_valid.value = 0
        await clocks(dut, 4)
        assert int(dut.samples.value) == count
        assert int(dut.sum.value) == sum(samples)
        assert (int(dut.minimum.value), int(dut.maximum.value)) == (min(samples), max(samples))
        bins = Counter(min(sample >> shift, BINS - 1) for sample in samples)
        for index in {*bins, 5, 9, 1000, BINS - 1}:
            assert await looked_up(dut, dut.bin_address, dut.bin_count, index) == bins[index], index
        kept = samples[:RECORDS]
        for index in {0, 1, len(kept) - 1, *random.sample(range(len(kept)), 30)}:
            assert await looked_up(dut, dut.record_address, dut.record, index) == kept[index], index
