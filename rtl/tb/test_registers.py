"""Every register and field is as described, and the generated files are current."""

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import cocotb

import registers as r
from clocking import clocks, start
from core import IDLE_INPUTS, Core

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "rtl"))


@cocotb.test()
async def registers_are_as_described(dut: Any) -> None:
    """Values after reset, writable fields, and no side effect on other registers."""
    from generate_registers import address_map, registers as described

    await start(dut, **IDLE_INPUTS)
    core = Core(dut)
    found = list(described(address_map()))
    after_reset = {}
    for register in found:
        value = await core.read(register.address_offset)
        for field in register.fields():
            reset = field.get_property("reset")
            held = value >> field.low & (1 << field.width) - 1
            assert reset is None or held == reset, (
                f"{register.inst_name}.{field.inst_name} is {held:#x} after reset"
            )
        after_reset[register.inst_name] = value
    for register in found:
        if register.inst_name == "CONTROL":
            continue
        # Commands that stay enabled would show in COMMAND_STATUS.
        last = 0 if register.inst_name == "COMMANDS" else random.getrandbits(32)
        for pattern in (0xFFFFFFFF, 0, last):
            await core.write(register.address_offset, pattern)
            value = await core.read(register.address_offset)
            expected = after_reset[register.inst_name]
            for field in register.fields():
                if field.is_sw_writable:
                    mask = ((1 << field.width) - 1) << field.low
                    expected = expected & ~mask | pattern & mask
            assert value == expected, f"{register.inst_name} is {value:#x} where {pattern:#x} was written"
            after_reset[register.inst_name] = value
        for other in found:
            assert await core.read(other.address_offset) == after_reset[other.inst_name], other.inst_name


@cocotb.test()
async def parameters_are_those_of_the_build(dut: Any) -> None:
    """And the link register shows the host's settings."""
    await start(dut, **IDLE_INPUTS)
    core = Core(dut)
    value = await core.read(r.PARAMETERS)
    assert value & r.PARAMETERS_DATA_BYTES_MASK == len(dut.tx_data) // 8
    assert value >> r.PARAMETERS_TAGS_SHIFT & r.PARAMETERS_TAGS_MASK == 64
    assert value >> r.PARAMETERS_RECORDS_LOG2_SHIFT == 12
    for payload, request, master in ((0, 5, 1), (3, 2, 0)):
        dut.max_payload.value, dut.max_read_request.value, dut.bus_master.value = payload, request, master
        await clocks(dut, 2)
        assert await core.read(r.LINK) == payload | request << 4 | master << 8


def test_generated_files_are_current() -> None:
    subprocess.run([sys.executable, ROOT / "rtl" / "generate_registers.py", "--check"], check=True)
