"""What commands do with a file of each kind, as far as that is quick, for changed inputs and known faults.

A use raises nothing, or an InputError.
"""

import json
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from pcielab import fabric, model
from pcielab.analysis.calibrate.measured import read_measured
from pcielab.analysis.calibrate.recorded_system import read_recorded_system
from pcielab.devices.running import run, simulate
from pcielab.doctor import read_lspci
from pcielab.doctor.devices import find
from pcielab.doctor.skeleton import skeleton
from pcielab.explore import answers
from pcielab.explore.answers import taken_out
from pcielab.explore.question import Systems, question_of
from pcielab.formats.importers import import_netfpga, import_pcie_bench
from pcielab.library import catalog, suites
from pcielab.library.profiles import resolve
from pcielab.store import open_store
from pcielab.sweeps import Point, load_sweep
from pcielab.work.options import RunOptions

_LINK = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
_LINK_GBPS = 63.0
"""Rate of the lanes of `_LINK` in one direction."""
_SYSTEMS = Systems()


@cache
def testbed() -> fabric.Fabric:
    """The fabric on which flows are tried."""
    return fabric.load("fabrex-u55c")


def system(path: Path) -> None:
    """Resolve a system."""
    resolve(str(path))


def changes(given: list[str]) -> None:
    """Resolve a system with changes, as `--set` takes them."""
    resolve("e3", given)


def suite(path: Path) -> None:
    """Load and check a suite of transfers."""
    _ = suites.load_suite(str(path)).tests


def message_suite(path: Path) -> None:
    """Load a suite of messages."""
    catalog.suite_kind(str(path))
    _ = suites.load_message_suite(str(path)).tests


def message_profile(path: Path, *, crossings: bool = True) -> None:
    """Load a profile of messages; compute the model's results for it."""
    profile = model.load_message_profile(path)
    model.messages(profile, [20, 64, 4096])
    if crossings:
        model.crossings(profile)
    if profile.loopback:
        model.loopback(profile, [64])


def nic(path: Path) -> None:
    """Load a NIC; compute the model's results for it."""
    device = model.load_nic(path)
    (row,) = model.nic(device, _LINK, [64])
    model.sizing([64], [900.0], device=device)
    assert all(answer is None or answer.gbps <= _LINK_GBPS for answer in (row.tx, row.rx, row.bi)), row


def limits(round_trip_ns: float, tags: int, size_bytes: int) -> None:
    """Compute a bandwidth under limits."""
    model.bandwidth(_LINK, [size_bytes], limits=model.Limits(round_trip_ns=round_trip_ns, tags=tags))


def fabric_file(path: Path) -> None:
    """Load a fabric; estimate its flows."""
    loaded = fabric.load(str(path))
    fabric.estimate(loaded, loaded.flows(), "ecr")


def flows(path: Path) -> None:
    """Read flows; estimate them, and run them for a microsecond."""
    chosen = testbed().flows(str(path))
    fabric.estimate(testbed(), chosen)
    fabric.simulate(testbed(), chosen, warm_up_us=0.0, duration_us=1.0)


def fabric_suite(path: Path) -> None:
    """Load experiments on a fabric; run the first points for a microsecond."""
    for point in fabric.load_fabric_suite(str(path)).points()[:3]:
        fabric.simulate(testbed(), point.frame(), warm_up_us=0.0, duration_us=1.0)


def sweep(path: Path) -> None:
    """Load a sweep; make its first point."""
    for setting in islice(load_sweep(path).settings(), 1):
        Point(setting.system.to_json(), setting.suite.to_json())


def question(asked: dict[str, Any], *, with_answer: bool = True) -> None:
    """Answer a question of a page in closed form."""
    read = question_of(asked)
    resolved = _SYSTEMS.resolved(read)
    if with_answer:
        json.dumps(answers.answer(read, resolved), allow_nan=False)
    answers.why(read, resolved, read.latency)
    taken_out(read, _SYSTEMS)


def published(folder: Path, output: Path) -> None:
    """Import a folder in the published format."""
    output.unlink(missing_ok=True)
    import_pcie_bench(folder, output)
    output.unlink()


def raw_results(path: Path) -> None:
    """Import raw results of the NetFPGA."""
    output = path.with_suffix(".db")
    import_netfpga(path, output, overwrite=True)
    assert open_store(output).done > 0
    output.unlink()


def measured(folder: Path) -> None:
    """Read a folder in the published format for calibration."""
    read_recorded_system(read_measured(folder).texts, folder.name, "mine")


def lspci_text(text: str, name: str, device: str | None, path: Path) -> None:
    """Make a skeleton from a text of `lspci -vvv`; resolve it."""
    tree = read_lspci(text, "lspci.txt")
    find(tree, device)
    path.write_text(skeleton(tree, name, device).text, encoding="utf-8")
    assert resolve(str(path)).system.name


def run_of_system(path: Path, suite_path: Path, seed: int) -> None:
    """Simulate a system; check that its numbers are possible."""
    output = path.with_name("run.db")
    simulate(resolve(str(path)), suites.load_suite(str(suite_path)), output, jobs=1, seed=seed, overwrite=True)
    rows = open_store(output).scalars
    output.unlink()
    for row in rows[rows["status"] == "ok"].to_dict("records"):
        is_bandwidth = row["operation"].startswith("bw")
        number = row["bandwidth" if is_bandwidth else "median"]
        # A latency of less than a tick is 0 ticks.
        assert number > 0 or (number == 0 and not is_bandwidth), f"{row['name']}: {number}"
        assert number < 1e15, f"{row['name']}: {number}"


def run_of_messages(suite_path: Path, path: Path) -> None:
    """Simulate messages."""
    chosen = suites.load_message_suite(str(suite_path))
    machine = model.load_message_profile(path)
    output = path.with_name("run.db")
    run(chosen, profile=machine, output=output, options=RunOptions(overwrite=True))
    output.unlink()
