"""Numbers of the documentation's text, computed again: each function gives those of one entry, as printed."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pandas as pd

from pcielab import Frames, fabric, model, run
from pcielab.charts.selection import matching
from pcielab.library.causes import causes
from pcielab.library.suites import load_suite
from pcielab.paper.measures import Modelled
from shell import pcielab


def answer(*command: str) -> list[dict[str, Any]]:
    """The rows that a command prints."""
    done = pcielab(*command, "--format", "json")
    assert done.exit_code == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def suites_of_the_table() -> list[str]:
    """Tests of shipped suites."""
    singles = (
        "fig4",
        "fig5",
        "fig7",
        "fig8-fig9",
        "netfpga",
        "chase",
        "cpu",
        "e1000e",
        "nvme",
        "cuda",
        "cuda-quick",
    )
    counts = [len(load_suite(name).tests) for name in ("paper", "quick", "demo", *singles)]
    return [f"{count:,}" for count in counts]


def causes_of_the_doctor() -> list[str]:
    """Causes that the doctor knows."""
    return [str(len(causes()))]


def rows_of_the_pack() -> list[str]:
    """Rows of the suite `quick`."""
    return [str(len(load_suite("quick").tests))]


def share_of_the_pack() -> list[str]:
    """The same, and their share of the published suite, percent."""
    [rows] = rows_of_the_pack()
    return [rows, f"{100 * int(rows) / len(load_suite('paper').tests):.1f}"]


def rows_of_the_rtl_suite() -> list[str]:
    """Rows of the suite `rtl-smoke`, named twice."""
    return 2 * [str(len(load_suite("rtl-smoke").tests))]


def bytes_around_payload() -> list[str]:
    """Bytes of a write and of a completion beside their payload."""
    write, read = Modelled().header_bytes_of_a_write(), Modelled().header_bytes_of_a_read()
    return [f"{write:.0f}", f"{read - write:.0f}"]


def gen3_x8() -> list[str]:
    """Rate of the physical layer, Gb/s."""
    return [f"{Modelled().physical_layer_gbps():.2f}"]


def copies_by_hand() -> list[str]:
    """Gen5 x16 after its line code, and its share for payloads of 256 B, GB/s."""
    link = 32 * 16 * 128 / 130 / 8
    return [f"{link:.1f}", f"{link * 256 / 276:.1f}"]


def drive_reads() -> list[str]:
    """Reads of 4 KiB that Gen5 x4 allows, millions a second."""
    [bound] = model.bandwidth(model.Link(generation=5, lanes=4, mps_bytes=256, mrrs_bytes=512), [4096])
    return [f"{bound.write.millions_per_s:.1f}"]


def pool_of_lines() -> list[str]:
    """92 lines of 300 ns, GB/s."""
    return ["92", "300", f"{92 * 64 / 300:.1f}"]


def switches_of_a_nic() -> list[str]:
    """64 B frames of the ConnectX-5 without and with its switches, Gb/s."""
    nics = ("connectx-5", "connectx-5+mprq+cqe-compression")
    rows = answer("model", "nic", *nics, "--gen", "3", "--lanes", "16", "--line", "100", "--sizes", "64")
    return [f"{row['rx_gbps']:.0f}" for row in rows]


def frames_that_hold_the_line() -> list[str]:
    """The first frames at 40 Gb/s without and with the IOMMU's small pages, of steps of 128 B."""
    return [_first_at_line_rate(system) for system in ("ib-000", "ib-000-nosp")]


def _first_at_line_rate(system: str) -> str:
    frames = [*range(64, 705, 128)]
    rows = run(Frames(model.load_nic("niantic-dpdk"), frames, model.Ethernet()), profile=system).scalar_rows
    rates = rows[rows["metric"] == "bandwidth"]["value"]
    need = [40 * (frame - 4) / (frame + 20) for frame in frames]
    return str(next(frame for frame, rate, line in zip(frames, rates, need, strict=True) if rate >= 0.999 * line))


def crossings() -> list[str]:
    """Bytes from which descriptors win: latency on Gen5 x8; bandwidth of two and of four in flight."""
    show = ("model", "pio", "--profile", "kpio-2012", "--show", "crossings")
    latency = answer(*show, "--gen", "5", "--lanes", "8")[0]["from_bytes"]
    several = [answer(*show, "--in-flight", number)[1]["from_bytes"] for number in ("2", "4")]
    return [f"{number:,}" for number in (latency, *several)]


def long_messages() -> list[str]:
    """Bandwidth of stores for 64 KB, Gb/s, and their share of that of descriptors, percent."""
    stores, descriptors = (
        row["gbps"] for row in answer("model", "pio", "--profile", "kpio-2012", "--messages", "64K")[1:]
    )
    return [f"{stores:.1f}", f"{100 * stores / descriptors:.0f}"]


def inline_send() -> list[str]:
    """Time that a message of 64 B saves inside its descriptor, ns."""
    ask = ("model", "pio", "--profile", "skylake-2017", "--messages", "64")
    apart, inline = (answer(*ask, *more)[2]["latency_ns"] for more in ((), ("--inline", "256")))
    return [f"{apart - inline:.0f}"]


def message_of_64_bytes() -> list[str]:
    """Latencies by stores and by descriptors, ns, and what stores save, percent."""
    stores, descriptors = (
        row["latency_ns"] for row in answer("model", "pio", "--profile", "kpio-2012", "--messages", "64")[1:]
    )
    return [f"{stores:.0f}", f"{descriptors:,.0f}", f"{100 * (1 - stores / descriptors):.1f}"]


def evictions_and_locks() -> list[str]:
    """Bandwidths of 1 KiB without and with early evictions, and of 64 B by one core and two with a lock, Gb/s."""
    rows = run("kpio", profile="kpio-2012").scalars
    early = matching(
        rows, family="message_evictions", way="write-combined", eviction="in-order", pressure=[0.0, 0.1]
    )
    cores = matching(rows, family="message_cores", generation=5, size_bytes=64, way="write-combined", cores=[1, 2])
    locked = matching(cores, sharing="one-queue")
    evicted = [f"{value:.2f}" for value in early["bandwidth"]]
    return [*evicted, *(f"{value:.1f}" for value in locked["bandwidth"])]


def mixed_connections() -> list[str]:
    """Latencies of short messages beside long ones: by stores, ns, and by descriptors, us."""
    store = run("kpio-mux", profile="kpio-2012")
    tests = matching(store.tests, family="message_mux_sizes", generation=1, stores_up_to_bytes=[0, 64])
    rows = matching(store.scalar_rows, test=list(tests["id"]), subject="connection requests", metric="median")
    descriptors, stores = rows["value"]
    return [f"{stores:.0f}", f"{descriptors / 1000:.1f}"]


def _h2d(destination: str, size: int, outstanding: int, warm_up_us: float | None = None) -> "pd.Series[float]":
    """A flow alone on the testbed."""
    asked = fabric.Flow(
        source="host1", destination=destination, primitive="h2d", size_bytes=size, outstanding=outstanding
    )
    frame = pd.DataFrame([asdict(asked)]).assign(name="F1")
    return fabric.simulate(fabric.load("fabrex-u55c"), frame, warm_up_us=warm_up_us).flows.iloc[0]


def one_outstanding() -> list[str]:
    """Local H2D with one request outstanding: 64 KB, 1 MB and 64 B, GB/s."""
    large, larger, small = (_h2d("L", size, 1)["gbytes_per_s"] for size in (65536, 1 << 20, 64))
    return [f"{large:.1f}", f"{larger:.1f}", f"{small:.2f}"]


def littles_law() -> list[str]:
    """16 requests of 64 KiB: rate in GB/s and latency in us, latency and rate x latency with a short warm-up."""
    steady, short = _h2d("A", 65536, 16), _h2d("A", 65536, 16, warm_up_us=50.0)
    latency, shorter = steady["average_ns"] / 1000, short["average_ns"] / 1000
    product = f"{short['gbytes_per_s'] * short['average_ns'] / 65536:.2f}"
    return [
        f"{steady['gbytes_per_s']:.2f}",
        f"{latency:.1f}",
        f"{shorter:.1f}",
        product,
        product,
        f"{latency:.1f}",
    ]


RECOMPUTED: dict[str, Callable[[], list[str]]] = {
    function.__name__: function
    for function in (
        suites_of_the_table,
        causes_of_the_doctor,
        rows_of_the_pack,
        share_of_the_pack,
        rows_of_the_rtl_suite,
        bytes_around_payload,
        gen3_x8,
        copies_by_hand,
        drive_reads,
        pool_of_lines,
        switches_of_a_nic,
        frames_that_hold_the_line,
        crossings,
        long_messages,
        message_of_64_bytes,
        inline_send,
        evictions_and_locks,
        mixed_connections,
        one_outstanding,
        littles_law,
    )
}
