"""Questions about runs as functions, for notebooks and scripts: explain, compare, calibrate, validate.

Each takes a run as a store or as its path, and loads its package when it is called.
"""

import weakref
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pcielab.argument_types import refuses_wrong_types
from pcielab.store import Store, open_store
from pcielab.work.running import Progress, no_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pcielab.analysis.calibrate import Calibration
    from pcielab.analysis.compare import Comparison
    from pcielab.analysis.explain import Explanation
    from pcielab.analysis.validate import Score
    from pcielab.library.profiles import ResolvedSystem


@refuses_wrong_types
def explain(run: Store | Path | str, tests: "Sequence[str]" = ()) -> "Explanation":
    """Find the bound that limits each bandwidth test of a run, and the slack of the next bounds.

        for row in pcielab.explain("run.db").rows:
            print(row.name, row.size_bytes, row.answer.bound, f"{row.share:.0%}")

    Args:
        run: A store of transfers, or its path.
        tests: Only these: numbers of tests, or parts of their family or name. All, if empty.

    Raises:
        InputError: The store cannot be read, its link is unknown, or a text of `tests` matches no test.
    """
    from pcielab.analysis.explain import explain_run

    return explain_run(_store(run), tests)


@refuses_wrong_types
def compare(a: Store | Path | str, b: Store | Path | str) -> "Comparison":
    """Pair the finished tests of two runs; differences are b minus a.

        pcielab.compare("before.db", "after.db").summary

    Args:
        a: The run to compare with, or its path.
        b: The other run, or its path.

    Raises:
        InputError: A store cannot be read, they are of different kinds, or they have no test in common.
    """
    from pcielab.analysis import compare as comparing

    return comparing.compare(_store(a), _store(b))


@refuses_wrong_types
def calibrate(
    measured: Path | str,
    name: str,
    *,
    pack: Path | str | None = None,
    device: str | None = None,
    seed: int = 1,
    progress: Progress = no_progress,
) -> "Calibration":
    """Fit a system profile (a twin) to measured rows; it takes one to two minutes on two cores.

        twin = pcielab.calibrate("measured.db", "mine")
        pathlib.Path("mine.toml").write_text(twin.to_toml())

    Args:
        measured: A store, or a folder in the published format.
        name: Name of the system.
        pack: A CSV file that names the rows to use; all, if absent.
        device: Name or file of the profile with the constants of a store's device; the store's, if absent.
        seed: Seed of the simulation.
        progress: Called while rows are simulated.

    Raises:
        InputError: Nothing can be read, no profile of the device is given, or the rows do not determine any
            parameter.
    """
    from pcielab.analysis import calibrate as calibrating

    rows = calibrating.read_measured(Path(measured), Path(pack) if pack is not None else None, device)
    return calibrating.calibrate(
        rows, name, seed=seed, progress=lambda done, total, step: progress(done, total, step, "")
    )


@refuses_wrong_types
def validate(
    system: "ResolvedSystem | str",
    measured: Store | Path | str,
    *,
    exclude: Path | str | None = None,
    seed: int = 1,
    progress: Progress = no_progress,
) -> "Score":
    """Simulate the suite `paper` on a twin and score it against measured rows; it takes one to two minutes.

        score = pcielab.validate("snb", "measured.db")
        score.by_test, score.worst(10)

    Args:
        system: The twin, or its name or path.
        measured: A store, its path, or a folder in the published format.
        exclude: A CSV file that names rows to leave out, as `pack` of `calibrate`.
        seed: Seed of the simulation.
        progress: Called after every test.

    Raises:
        InputError: A name is unknown, a file cannot be read, or the run has no test of the suite `paper`.
    """
    from pcielab.analysis.calibrate import read_pack
    from pcielab.analysis.validate import require_common, score
    from pcielab.devices.running import simulate
    from pcielab.library.suites import load_suite

    excluded = read_pack(Path(exclude)) if exclude is not None else set()
    found = measured_run(measured)
    found.require_kind("transfers", "validate")
    found.require_speed("validating")
    suite = load_suite("paper")
    require_common(found, suite, str(measured.path if isinstance(measured, Store) else measured))
    return score(found, simulate(system, suite, seed=seed, progress=progress), excluded)


def measured_run(source: Store | Path | str) -> Store:
    """A measured run: a store as it is, a folder in the published format imported into a temporary store.

    Raises:
        InputError: The store or the folder cannot be read.
    """
    if isinstance(source, Store) or not Path(source).is_dir():
        return _store(source)
    from pcielab.formats.importers import import_pcie_bench

    folder = TemporaryDirectory(prefix="pcielab-")
    path = Path(folder.name) / "measured.db"
    import_pcie_bench(source, path)
    store = open_store(path)
    weakref.finalize(store, folder.cleanup)
    return store


def _store(run: Store | Path | str) -> Store:
    return run if isinstance(run, Store) else open_store(run)
