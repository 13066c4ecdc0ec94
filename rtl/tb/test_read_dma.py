"""The engines of `examples/read_dma` on simulated hosts: reads over tags, writes, reads beside writes, a trace."""

import sys
from pathlib import Path

import pytest

from simulator import RUNTIME, share_runtime

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "read_dma"))
simulate = pytest.importorskip("simulate", reason="needs cocotb: make rtl-check installs it")


def slow(*values: object) -> object:
    """A case that only `make rtl-test` runs."""
    return pytest.param(*values, marks=pytest.mark.slow)


pytestmark = pytest.mark.long("the first test of an engine behind a block compiles both")


@pytest.fixture(scope="module", autouse=True)
def _shared_runtime() -> None:
    for top in simulate.TOPS.values():
        share_runtime(RUNTIME, simulate.BUILDS / top)


@pytest.mark.parametrize(
    ("profile", "block"),
    [("hsw2620", "intel"), ("clx-6234", "xilinx"), slow("hsw2620", "xilinx"), slow("snb-iommu", "xilinx")],
)
def test_bandwidth_grows_with_tags_up_to_the_bound(profile: str, block: str) -> None:
    tags = [1, 4, 64]
    rows = simulate.simulate("bandwidth_over_tags", profile, block, size=512, reads=150, tags=tags)
    found = [row["gbps"] for row in rows]
    bounds = [simulate.bound_gbps(profile, 512, one) for one in tags]
    assert [row["tags"] for row in rows] == tags
    assert found == sorted(found)
    assert all(0.7 * bound < gbps <= bound for gbps, bound in zip(found, bounds, strict=True)), (found, bounds)


@pytest.mark.parametrize("profile", ["clx-6234", slow("hsw2620"), slow("snb-iommu")])
def test_a_trace_takes_the_same_time(profile: str) -> None:
    from pcielab import load_system
    from pcielab.port import trace

    text = trace.record(load_system("hsw2620"), "bw-rdwr", size=256, window="64K", transactions=300)
    late = simulate.simulate("trace_takes_the_same_time", profile, trace=text)
    assert len(late) == 150
    # Each of cocotbext-pcie's four steps from port to port takes at least a picosecond.
    assert set(late) == {4}


KINDS = {"bw-wr": ["write"], "bw-rd": ["read"], "bw-rdwr": ["write", "read"]}
"""Kinds of requests of each test."""
PLAIN = ["chunk_addresses=[34359738368]", "link.tags=256"]
"""Every address of the buffer takes 64 bits, and no read waits for a tag."""


def bound_gbps(profile: str, size: int, test: str) -> float:
    return float(simulate.bound_gbps(profile, size, 256, test, "direct-dma", PLAIN[:1]))


@pytest.mark.parametrize("profile", ["hsw2620", *map(slow, ("snb-iommu", "ib-011", "hsw2637"))])
def test_a_writing_engine_gets_the_bound_of_the_link_and_no_more(profile: str) -> None:
    """Hosts whose link is slower than the streams of the block."""
    asked = {"sets": PLAIN, "sizes": [64, 256], "writes": 1500, "read_after": 0}
    for row in simulate.simulate("writes_beside_a_read", profile, "writes", **asked):
        bound = bound_gbps(profile, row["size"], "bw-wr")
        assert 0.98 * bound < row["gbps"] < 1.001 * bound, (row, bound)
        assert row["waiting"] <= 1, row
        assert min(row["least_credits"]) >= 0, row


@pytest.mark.parametrize("profile", ["hsw2620", slow("clx-6234")])
def test_a_read_beside_writes_waits_for_no_more_than_the_credits_hold(profile: str) -> None:
    from pcielab.library.profiles import resolve
    from pcielab.port import trace

    size = 256
    asked = {"sets": PLAIN, "sizes": [size], "writes": 1500, "read_after": 20}
    [row] = simulate.simulate("writes_beside_a_read", profile, "writes", **asked)
    # Of what a write left in the cache, as beside writes. Several, since they take unequal times, and far apart.
    apart_ps = 4_000_000
    reads = "".join(f"{apart_ps * nth} read 0 64\n" for nth in range(1, row["reads"]))
    _, *played = trace.play(resolve(profile, PLAIN), f"{trace.HEADER}\n0 write 0 64\n{reads}")
    alone_ns = [(one.done_ps - apart_ps * nth) / 1000 for nth, one in enumerate(played, 1)]
    headers, data = row["credits"]
    write_ns = 8 * size / bound_gbps(profile, size, "bw-wr")
    block_writes, block_ns = 6, 100
    in_front = min(headers, 16 * data // size) + block_writes
    assert row["reads"] > 20, row
    assert min(alone_ns) < row["slowest_ns"] < max(alone_ns) + block_ns + in_front * write_ns, row


@pytest.mark.parametrize(
    ("profile", "kinds"),
    [
        ("hsw2620", ("read", "write")),
        *(
            slow(profile, kinds)
            for profile in ("hsw2620", "snb-iommu", "clx-6234", "icx-6346")
            for kinds in (("read",), ("write",), ("read", "write"))
            if (profile, len(kinds)) != ("hsw2620", 2)
        ),
    ],
)
def test_tlps_in_turn_get_the_bound_of_the_link_and_no_more(profile: str, kinds: tuple[str, ...]) -> None:
    test = "bw-rdwr" if len(kinds) > 1 else {"read": "bw-rd", "write": "bw-wr"}[kinds[0]]
    # At 64 B and 16 GT/s x16, the root complex binds, whose time has no closed form.
    sizes = [256] if profile == "icx-6346" else [64, 256]
    for row in simulate.simulate("tlps_in_turn", profile, sets=PLAIN, kinds=kinds, sizes=sizes, tlps=1600):
        bound = bound_gbps(profile, row["size"], test)
        assert 0.98 * bound < row["gbps"] < 1.001 * bound, (row, bound)


@pytest.mark.parametrize("profile", ["hsw2620", *map(slow, ("snb-iommu", "clx-6234", "icx-6346"))])
def test_the_functional_model_of_cocotbext_pcie_gets_the_bound(profile: str) -> None:
    """Its own reads and writes, 256 at once: an engine that nobody wrote for this."""
    asked = {"size": 256, "transfers": 768, "workers": 256, "kinds": [["read"], ["write"], ["write", "read"]]}
    found = simulate.simulate("model_moves_bytes", profile, sets=PLAIN, model=True, **asked)
    for gbps, test in zip(found, ("bw-rd", "bw-wr", "bw-rdwr"), strict=True):
        bound = bound_gbps(profile, 256, test)
        assert 0.98 * bound < gbps < 1.005 * bound, (test, gbps, bound)


def test_reads_fail_as_a_test_says() -> None:
    found = simulate.simulate("reads_fail", "hsw2620", model=True)
    assert found == {
        "data": {"seen": [["CPL_DATA", "SC", False, 64]], "raised": ""},
        "poisoned": {"seen": [["CPL_DATA", "SC", True, 64]], "raised": ""},
        "unsupported": {"seen": [["CPL", "UR", False, 64]], "raised": "Unsuccessful completion"},
        "aborted": {"seen": [["CPL", "CA", False, 64]], "raised": "Unsuccessful completion"},
        "lost": {"seen": [], "raised": "Timeout"},
    }


@pytest.mark.parametrize("kind", ["read", "write"])
def test_tlps_beyond_mps_and_mrrs_are_refused(kind: str) -> None:
    simulate.simulate("tlps_too_long", "hsw2620", model=True, kind=kind)


@pytest.mark.parametrize(
    ("profile", "p_tile", "tests"),
    [
        ("hsw2620", True, ["bw-rdwr"]),
        *(slow(profile, p_tile, [*KINDS]) for profile in ("hsw2620", "snb-iommu") for p_tile in (True, False)),
    ],
)
def test_an_engine_behind_either_block_of_intel_gets_the_bound(
    profile: str, p_tile: bool, tests: list[str]
) -> None:
    """Hosts whose link is slower than the streams of the blocks: 256 B take 8 beats, with a header in front 9."""
    asked = {"size": 256, "tlps": 1536, "kinds": [KINDS[test] for test in tests]}
    found = simulate.simulate("avalon_moves_bytes", profile, "avalon", sets=PLAIN, p_tile=p_tile, **asked)
    for gbps, test in zip(found, tests, strict=True):
        bound = bound_gbps(profile, 256, test)
        assert 0.98 * bound < gbps < 1.005 * bound, (test, gbps, bound)


def test_the_guides_lines_put_a_host_behind_a_root_complex() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "other-simulators.md").read_text()
    section = guide.partition("## cocotb")[2].partition("\n## ")[0]
    lines = [line.removeprefix("    ") for line in section.splitlines() if line.startswith("    ")]
    [failing] = [line for line in lines if "outcome=" in line]
    first = lines[: lines.index(failing)]
    assert first[-1] == "Host(root, device, system)"
    for body in (first, [*first[:-1], failing]):
        found = simulate.simulate("lines_of_a_guide", "hsw2620", model=True, lines="\n".join(body))
        assert found["limits"] == [256, 512]
        assert 400 < found["read_ns"] < 500
