"""The fault counters: one for each kind, several kinds in a clock, and the kind that ends the test."""

import random
from collections import Counter
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

import registers as r
from clocking import settled, start

COMPLETIONS = {
    r.RESULT_ERROR_STATUS: "error_status_count",
    r.RESULT_POISONED: "poisoned_count",
    r.RESULT_WRONG_LENGTH: "wrong_length_count",
    r.RESULT_UNKNOWN_TAG: "unknown_tag_count",
}


@cocotb.test()
async def every_kind_has_its_counter(dut: Any) -> None:
    """Random faults, alone and together; the completion's has priority, then the time-out."""
    await start(dut, completion_fault=0, completion_kind=0, timed_out=0, mismatch=0)
    counts: Counter[str] = Counter()
    for _ in range(400):
        completion, late, wrong = (random.random() < 0.3 for _ in range(3))
        kind = random.choice(list(COMPLETIONS))
        dut.completion_fault.value, dut.completion_kind.value = int(completion), kind
        dut.timed_out.value, dut.mismatch.value = int(late), int(wrong)
        await settled()
        assert bool(dut.fault.value) == (completion or late or wrong)
        if dut.fault.value:
            named = kind if completion else r.RESULT_TIMED_OUT if late else r.RESULT_DATA_MISMATCH
            assert int(dut.kind.value) == named
        await FallingEdge(dut.clk)
        counts[COMPLETIONS[kind]] += completion
        counts["timed_out_count"] += late
        counts["data_mismatch_count"] += wrong
        for name in [*COMPLETIONS.values(), "timed_out_count", "data_mismatch_count"]:
            assert int(getattr(dut, name).value) == counts[name], name
    assert min(counts.values()) > 0
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    assert int(dut.poisoned_count.value) == 0
