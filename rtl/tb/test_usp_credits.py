"""No request starts without credit, many credits are no limit, and which writes are out."""

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import start

IDLE = {
    "bus_master": 1, "max_payload": 1, "taken": 0, "sop": 1, "eop": 1, "header": 0, "read_entered": 0,
    "pcie_tfc_nph_av": 0, "cfg_fc_ph": 0, "cfg_fc_pd": 0, "pcie_rq_seq_num0": 0, "pcie_rq_seq_num_vld0": 0,
    "pcie_rq_seq_num1": 0, "pcie_rq_seq_num_vld1": 0,
}  # fmt: skip
ENTRY_CLOCKS = 2
"""From the core's port to the hard block."""
LAG = 2
"""Clocks until pcie_tfc_nph_av counts a read."""


class Block:
    """The hard block: writes take credits at the end of its pipeline, reads when they enter."""

    def __init__(self, dut: Any, headers: int, data: int, reads: int, clocks: int) -> None:
        self.dut, self.headers, self.data, self.reads, self.clocks = dut, headers, data, reads, clocks
        self.now = self.sent = self.short = 0
        self.entering: deque[tuple[int, bool]] = deque()
        self.pipeline: deque[tuple[int, int, bool, int]] = deque()
        self.returning: list[tuple[int, bool, int]] = []
        self.shown = deque([0] * LAG, maxlen=LAG)

    async def offer(self, write: bool, dwords: int, report: int = 0, epoch: int = 0) -> bool:
        """Offer a request for a clock; whether it leaves."""
        dut, top = self.dut, len(self.dut.header) - 1
        dut.header.value = int(write) << top | dwords << top - 75 | report << 1 | epoch
        leaves = bool(dut.posted_credit.value if write else dut.non_posted_credit.value)
        dut.taken.value = int(leaves)
        if leaves:
            number, self.sent = int(dut.number.value), self.sent + 1
            assert number == (self.sent - 1) % 64
            assert all(number != other for _, other, _, _ in self.pipeline), "a number is used twice"
            self.entering.append((self.now + ENTRY_CLOCKS, not write))
            self.pipeline.append((self.now + self.clocks, number, write, -(-dwords // 4) if write else 0))
        await self.clock()
        return leaves

    async def clock(self, numbers: bool = True) -> None:
        """Run a clock."""
        dut, back = self.dut, []
        self.now += 1
        dut.read_entered.value = 0
        if self.entering and self.entering[0][0] <= self.now:
            is_read = self.entering.popleft()[1]
            dut.read_entered.value = int(is_read)
            self.reads -= is_read
            self.short += self.reads < 0
        while numbers and self.pipeline and self.pipeline[0][0] <= self.now and len(back) < 2:
            _, number, write, data = self.pipeline.popleft()
            back.append(number)
            if write:
                self.headers, self.data = self.headers - 1, self.data - data
                self.short += self.headers < 0 or self.data < 0
            self.returning.append((self.now + random.randint(20, 60), write, data))
        for due in [one for one in self.returning if one[0] <= self.now]:
            self.returning.remove(due)
            _, write, data = due
            self.headers, self.data, self.reads = (
                self.headers + write,
                self.data + data,
                self.reads + (not write),
            )
        for n in range(2):
            getattr(dut, f"pcie_rq_seq_num_vld{n}").value = int(n < len(back))
            getattr(dut, f"pcie_rq_seq_num{n}").value = back[n] if n < len(back) else random.getrandbits(6)
        dut.cfg_fc_ph.value, dut.cfg_fc_pd.value = self.headers, self.data
        dut.pcie_tfc_nph_av.value = self.shown[0]
        self.shown.append(min(15, max(0, self.reads)))
        await FallingEdge(dut.clk)
        dut.taken.value = 0


async def block_of(dut: Any, headers: int, data: int, reads: int, clocks: int = 12) -> Block:
    """A block with these credits, some clocks after a reset."""
    dut.rst.value = 1
    for name, value in IDLE.items():
        getattr(dut, name).value = value
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    block = Block(dut, headers, data, reads, clocks)
    for _ in range(10):
        await block.clock()
    return block


@cocotb.test()
async def no_request_starts_without_credit(dut: Any) -> None:
    """Random requests on links with few credits and with many: the block never lacks one."""
    await start(dut, **IDLE)
    for limits in ((1, 16, 1, 12), (4, 64, 3, 12), (8, 300, 8, 30), (9, 40, 15, 5), (127, 2047, 64, 12)):
        block = await block_of(dut, *limits)
        assert int(dut.cfg_fc_sel.value) == 4
        for _ in range(300):
            write = random.random() < 0.5
            dwords = random.choice([1, 4, 5, 64]) if write else 128
            for _ in range(400):
                if random.random() < 0.2:
                    await block.clock()
                if await block.offer(write, dwords):
                    break
            else:
                raise AssertionError(f"no credit comes back: {limits}")
        assert block.short == 0, limits


@cocotb.test()
async def many_credits_are_no_limit(dut: Any) -> None:
    """A read each clock, and a write each clock, on a link that returns credits as they are used."""
    await start(dut, **IDLE)
    for write, least in ((False, 300), (True, 300)):
        block = await block_of(dut, 127, 2047, 127)
        left = sum([await block.offer(write, 16) for _ in range(300)])
        assert left == least, (write, left)


@cocotb.test()
async def numbers_that_stay_out_stop_requests(dut: Any) -> None:
    """No number is used twice, whatever the credits; requests go on when numbers come back."""
    await start(dut, **IDLE)
    block = await block_of(dut, 127, 2047, 127, clocks=1_000)
    left = sum([await block.offer(True, 1) for _ in range(200)])
    assert 48 <= left <= 64, left
    block.pipeline = deque((0, *others) for _, *others in block.pipeline)
    for _ in range(60):
        await block.clock()
    assert await block.offer(True, 1)


@cocotb.test()
async def a_reported_write_is_out_when_its_number_comes_back(dut: Any) -> None:
    """Once, with its epoch, and not before; writes without a report are silent."""
    await start(dut, **IDLE)
    block = await block_of(dut, 127, 2047, 127, clocks=40)
    reports = [(n % 3 == 0, n % 2) for n in range(12)]
    seen, first = [], None
    for n in range(150):
        if n < len(reports):
            assert await block.offer(True, 8, *map(int, reports[n]))
        else:
            await block.clock()
        valid, epochs = int(dut.out.value) >> 2, int(dut.out.value) & 3
        found = [epochs >> lane & 1 for lane in range(2) if valid >> lane & 1]
        first = n if found and first is None else first
        seen += found
    assert seen == [epoch for report, epoch in reports if report]
    assert first is not None
    assert first >= 39, "a write is out before its number comes back"


@cocotb.test()
async def without_bus_mastering_nothing_stays_pending(dut: Any) -> None:
    """The block drops requests without their numbers; later requests have all credits and numbers."""
    await start(dut, **IDLE)
    block = await block_of(dut, 4, 64, 3)
    for turn in range(20):
        for write in (True, False):
            for _ in range(20):
                if await block.offer(write, 64 if write else 128):
                    break
            else:
                raise AssertionError(f"no credit after {turn} losses")
        block.entering.clear()
        block.pipeline.clear()
        dut.bus_master.value = 0
        for _ in range(10):
            await block.clock()
        dut.bus_master.value = 1
        for _ in range(10):
            await block.clock()
