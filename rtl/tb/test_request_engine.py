"""The request engine: parts become requests with header and payload, and take tags and slots as needed."""

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from clocking import settled, start
from host import check_enables
from test_splitter import packed

IDLE = {
    "data_key": 0, "part_valid": 0, "part": 0, "part_first": 0, "part_last": 0, "tag_valid": 0, "tag": 0,
    "slot_valid": 0, "slot": 0, "tx_ready": 0, "ten_bit_tags": 0,
}  # fmt: skip


def random_parts() -> list[tuple[bool, int, int, int, bool, bool]]:
    """Random parts: write, address, offset, length, first and last of its transfer."""
    parts = []
    for _ in range(12):
        write, count = random.random() < 0.5, random.choice([1, 1, 2, 3])
        for number in range(count):
            address, offset = random.getrandbits(62), random.getrandbits(40)
            offset = offset & ~3 | address & 3
            length = random.choice([1, 2, 3, 4, 5, 32, 33, 64, 100, random.randint(1, 4096)])
            parts.append((write, address, offset, length, number == 0, number == count - 1))
    return parts


@cocotb.test()
async def parts_become_requests(dut: Any) -> None:
    """Random parts; tags, slots and the output are sometimes unavailable."""
    width, count = len(dut.tx_data) // 8, 1 << len(dut.tag)
    await start(dut, **IDLE)
    # Numbers from 0 on become tags from 256 on.
    wide = count > 256
    dut.ten_bit_tags.value = int(wide)
    for round_number in range(12):
        key = random.getrandbits(32)
        dut.data_key.value = key
        ready, ids = ((100, 100), (50, 100), (100, 40), (40, 60))[round_number % 4]
        parts = random_parts()
        todo, out, taken = list(parts), [], []
        slot_of_transfer = None
        beats, header = b"", {}
        for _ in range(20_000):
            if len(out) == len(parts):
                break
            dut.part_valid.value = int(bool(todo))
            if todo:
                dut.part.value = packed(*todo[0][:4])
                dut.part_first.value, dut.part_last.value = int(todo[0][4]), int(todo[0][5])
            tag, slot = random.randrange(count), random.randrange(count)
            dut.tag_valid.value, dut.tag.value = int(random.randrange(100) < ids), tag
            dut.slot_valid.value, dut.slot.value = int(random.randrange(100) < ids), slot
            dut.tx_ready.value = int(random.randrange(100) < ready)
            await settled()
            if dut.tx_valid.value and dut.tx_ready.value:
                if dut.tx_sop.value:
                    assert not header
                    names = ("write", "address", "dwords", "first_be", "last_be", "tag", "starts_transfer")
                    header = {f"tx_{name}": int(getattr(dut, f"tx_{name}").value) for name in names}
                else:
                    assert not dut.tx_starts_transfer.value
                beats += int(dut.tx_data.value).to_bytes(width, "little")
                assert bool(dut.tx_ends_transfer.value) == bool(dut.tx_eop.value and parts[len(out)][5])
                if dut.tx_eop.value:
                    assert int(dut.tx_bytes.value) == parts[len(out)][3]
                    out.append((header, beats))
                    beats, header = b"", {}
            if dut.part_valid.value and dut.part_ready.value:
                write, _, _, _, first, _ = todo.pop(0)
                assert bool(dut.issue.value) == (not write)
                if not write:
                    assert dut.tag_valid.value
                    assert not first or dut.slot_valid.value
                    slot_of_transfer = slot if first else slot_of_transfer
                    assert bool(dut.issue_first.value) == first
                    assert int(dut.issue_slot.value) == slot_of_transfer
                    taken.append(tag)
            else:
                assert not dut.issue.value
            await FallingEdge(dut.clk)
        assert len(out) == len(parts), "requests are missing"
        tags = iter(taken)
        for (write, address, offset, length, first, _), (header, beats) in zip(parts, out, strict=True):
            dwords = (address % 4 + length + 3) // 4
            lead, behind = check_enables(header["tx_first_be"], header["tx_last_be"], dwords)
            assert (header["tx_write"], header["tx_dwords"]) == (int(write), dwords)
            assert header["tx_address"] == address & ~3
            assert header["tx_starts_transfer"] == int(first)
            assert (lead, 4 * dwords - lead - behind) == (address % 4, length)
            if not write:
                assert header["tx_tag"] == next(tags) + 256 * wide
                assert len(beats) == width
                continue
            assert len(beats) == -(-4 * dwords // width) * width
            words = range(offset & ~3, (offset & ~3) + 4 * dwords, 4)
            expected = b"".join((word & 0xFFFFFFFF ^ key).to_bytes(4, "little") for word in words)
            assert beats[: 4 * dwords] == expected


@cocotb.test()
async def a_read_leaves_every_clock(dut: Any) -> None:
    """While tags, slots and the output are available."""
    await start(dut, **IDLE)
    dut.part.value = packed(False, 64, 64, 64)
    for name in ("part_valid", "part_first", "part_last", "tag_valid", "slot_valid", "tx_ready"):
        getattr(dut, name).value = 1
    await FallingEdge(dut.clk)
    for _ in range(50):
        assert dut.tx_valid.value
        assert dut.tx_sop.value
        await FallingEdge(dut.clk)
