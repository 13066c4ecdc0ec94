"""The corners of published machines are found unaided, each with a small reproducer."""

import pytest

import pcielab
from pcielab.design.corners import corners_of
from pcielab.design.measuring import Measuring

CELLS = [("bw-rd", 64), ("bw-rd", 256), ("bw-rdwr", 64), ("bw-rdwr", 512), ("lat-rd", 64)]

RUN = "pcielab run"


def test_a_latency_has_the_corners_of_its_caches() -> None:
    system = pcielab.load_system("hsw2620")
    with Measuring() as measuring:
        found = {one.what: one for one in corners_of(system.handle, "hsw2620", RUN, measuring, [("lat-rd", 64)])}
    cold = found["cold caches"]
    assert cold.command == f"{RUN} --test lat-rd --size 64 --window 8192 --cache cold"
    ddio = found["window over DDIO's share of the LLC"]
    assert ddio.words["window"] > 15_728_640 * 2 // 20
    assert ddio.share < ddio.easy_share
    assert "the reach of the IO-TLB" not in str(list(found))


@pytest.mark.slow
def test_the_five_known_corners() -> None:
    """IO-TLB window, DDIO edge, unaligned 256 B, remote socket, small writes with reads (SIGCOMM 2018)."""
    system = pcielab.load_system("ib-000-nosp")
    with Measuring() as measuring:
        found = {one.what: one for one in corners_of(system.handle, "ib-000-nosp", RUN, measuring, CELLS)}
    io_tlb = found["window over the reach of the IO-TLB"]
    assert io_tlb.drop > 0.5
    assert io_tlb.words["window"] > 126 * 4096
    assert found["window over DDIO's share of the LLC"].words["window"] > 15_728_640 * 2 // 20
    assert 256 in found["unaligned on the host"].drops
    assert found["buffers on the other socket"].changes == {"memory_socket": 1, "program_socket": 1}
    small = found["small reads and writes at once"]
    assert small.words["size"] == 64
    assert small.command.endswith("--test bw-rdwr --size 64 --window 8192 --cache host-warm")
