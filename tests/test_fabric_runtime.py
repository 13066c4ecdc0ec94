"""The primitives for programs: policies in Python, bytes and addresses, and errors of wrong programs."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pcielab import InputError, fabric

TESTBED = fabric.load("fabrex-u55c")


def ready(policy: fabric.PolicyName | fabric.Policy = "fifo", outstanding: int = 64) -> fabric.Runtime:
    runtime = fabric.Runtime(TESTBED, policy=policy, outstanding=outstanding)
    for number, device in enumerate(("A", "B")):
        runtime.device_init(device)
        runtime.memory_init(device, "hbm")
        runtime.setup_mapping(device, "hbm", "host1", 0x1000_0000_0000 + number * 0x10_0000_0000)
    return runtime


def test_a_policy_in_python_sees_waiting_requests_and_delays_them() -> None:
    seen: list[fabric.Waiting] = []

    class OneAtATime:
        def choose(self, waiting: Sequence[fabric.Waiting]) -> int | fabric.Hold | None:
            seen.extend(waiting)
            if waiting[0].in_flight:
                return None
            return 0 if waiting[0].age_ns >= 500 else fabric.Hold(500 - waiting[0].age_ns)

    runtime = ready(OneAtATime())
    host, device = runtime.host_memory_alloc("host1", 64), runtime.memory_alloc("A", "hbm", 64)
    queue = runtime.add_queue("host1", outstanding=8)
    for _ in range(3):
        runtime.h2d(queue, "A", host, device, 64)
    runtime.run()
    requests = runtime.trace().requests
    assert requests["host"].iloc[0] == 650
    assert (requests["total"].diff().iloc[1:] > 1000).all(), "one after the other"
    first = seen[0]
    assert (first.host, first.device, first.primitive, first.size_bytes) == ("host1", "A", "h2d", 64)


def test_bytes_and_addresses_go_both_ways() -> None:
    runtime = ready()
    device = runtime.memory_alloc("A", "hbm", 4096)
    seen = runtime.memory_address("A", device, "host1")
    assert runtime.device_address("A", seen + 7, "host1") == device + 7
    runtime.write_bytes("A", device, b"0123456789")
    assert runtime.read_bytes("A", device + 2, 4) == b"2345"
    with pytest.raises(InputError, match="the segment ends after 4096"):
        runtime.read_bytes("A", device, 4097)


def test_every_primitive_has_a_single_and_a_batched_form() -> None:
    runtime = ready()
    queue = runtime.add_queue("host1", outstanding=4)
    host = runtime.host_memory_alloc("host1", 8192)
    here, there = (runtime.memory_alloc(device, "hbm", 8192) for device in ("A", "B"))
    for call in (runtime.mmio_read, runtime.mmio_write, runtime.h2d, runtime.d2h):
        call(queue, "A", host, here, 256)
    for call in (runtime.dev2dev_read, runtime.dev2dev_write):
        call(queue, "A", here, there, 256)
    parts = [(host, here, 256), (host + 4096, here + 4096, 256)]
    for batch in (runtime.mmio_read_batch, runtime.mmio_write_batch, runtime.h2d_batch, runtime.d2h_batch):
        batch(queue, "A", parts)
    for batch in (runtime.dev2dev_read_batch, runtime.dev2dev_write_batch):
        batch(queue, "A", [(here, there, 256), (here + 4096, there + 4096, 256)])
    assert runtime.unfinished == 12
    runtime.run()
    requests = runtime.trace().requests.sort_values("request")
    kinds = ["mmio-read", "mmio-write", "h2d", "d2h", "d2d-read", "d2d-write"]
    assert requests["primitive"].tolist() == kinds * 2
    assert requests["size_bytes"].tolist() == [256] * 6 + [512] * 6
    phases = requests[["host", "fabric", "device"]]
    assert (phases.sum(axis=1) == requests["total"]).all()
    assert runtime.now_ns == (requests["submitted"] + requests["total"]).max()
    assert (phases >= 0).all(axis=None)


def test_a_policy_may_be_written_in_python() -> None:
    class LargestFirst:
        def choose(self, waiting: Sequence[fabric.Waiting]) -> int:
            return max(range(len(waiting)), key=lambda number: waiting[number].size_bytes)

    runtime = ready(LargestFirst(), outstanding=1)
    host, here = runtime.host_memory_alloc("host1", 4096), runtime.memory_alloc("A", "hbm", 4096)
    small, large = (runtime.add_queue("host1", outstanding=8) for _ in range(2))
    for queue, size in ((small, 64), (large, 4096)):
        for _ in range(3):
            runtime.d2h(queue, "A", host, here, size)
    runtime.run()
    assert runtime.trace().requests["queue"].tolist() == [small, large, large, large, small, small]


def test_an_exception_of_a_policy_reaches_the_caller() -> None:
    class Broken:
        def choose(self, waiting: Sequence[fabric.Waiting]) -> int:
            raise RuntimeError(f"cannot choose among {len(waiting)}")

    runtime = ready(Broken())
    host, here = runtime.host_memory_alloc("host1", 64), runtime.memory_alloc("A", "hbm", 64)
    queue = runtime.add_queue("host1")
    with pytest.raises(RuntimeError, match="cannot choose among 1"):
        runtime.h2d(queue, "A", host, here, 64)


def test_mistakes_are_named() -> None:
    with pytest.raises(InputError, match="policy lifo: unknown: give fifo, round-robin, shortest-first"):
        fabric.Runtime(TESTBED, policy="lifo")  # type: ignore[arg-type]
    runtime = ready()
    address = runtime.memory_alloc("A", "hbm", 64)
    runtime.memory_free("A", address)
    with pytest.raises(InputError, match=r"hbm of A: 0x3000000000 is not allocated: it was freed before"):
        runtime.memory_free("A", address)
    with pytest.raises(InputError, match="hbm of A: no 8589934592 bytes are free"):
        runtime.memory_alloc("A", "hbm", 8 << 30)
    with pytest.raises(InputError, match="bram of A at 0x5000000000: overlaps hbm of B"):
        runtime.map_bar("A", "bram", 0x50_0000_0000, 4096)


BARE = """
[devices.bare.engine]
execution_ns = 418.0
tags = 256
peer_requests = 64
completion_bytes = 8
read = { interval_ns = 120.0, bytes_per_ns = 55.0 }
write = { interval_ns = 48.0, bytes_per_ns = 53.0 }
"""


def test_a_device_without_memory_cannot_be_the_target_of_d2d(tmp_path: Path) -> None:
    node = 'device = "u55c"\nbar_addresses = { hbm = 0x90_0000_0000, bram = 0xa0_0000_0000 }'
    text = TESTBED.path.read_text(encoding="utf-8")
    assert node in text
    path = tmp_path / "bare.toml"
    path.write_text(text.replace(node, 'device = "bare"') + BARE, encoding="utf-8")
    chosen = fabric.load(str(path))
    flows = chosen.flows("latency")
    with pytest.raises(InputError, match="flow across d2d-write: D has no memory: give a device that has one"):
        fabric.simulate(chosen, flows[flows["name"] == "across d2d-write"])
