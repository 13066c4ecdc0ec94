"""Compare a GPU with the figures that `--device cuda` has to reach: `make gpu`, on a machine with a GPU.

Runs `cuda-quick` three times and `cuda` once into gpu/, and prints each figure, its value, and whether it is met.
Existing stores are read, not run again.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pcielab import InputError, RunError, Store, devices, load_suite, open_store
from pcielab.analysis.explain import explain_run
from pcielab.library.input_files import read_toml

BANDWIDTH_AGREES, LATENCY_AGREES = 0.01, 0.02
OF_ENGINE, FIT_WITHIN, WINDOWS_ALIKE = 0.95, 0.03, 0.02
LARGE_BYTES = 4096
ALIKE_WINDOW_BYTES = 1 << 20


@dataclass(frozen=True)
class Figure:
    """A required figure, the value found, and whether it is met; None if unknown."""

    asked: str
    found: str
    met: bool | None


def figures(repeated: Sequence[Store]) -> Iterator[Figure]:
    """Check all figures, from runs of the same suite on the same GPU."""
    yield _agreement(repeated, "bandwidth", BANDWIDTH_AGREES)
    yield _agreement(repeated, "median", LATENCY_AGREES)
    for store in repeated[:1]:
        yield below_bounds(store)
        yield _of_engine(store, "BW_CMD_WR", "BW_DMA_WR")
        yield _reads(store)
        yield windows_alike(store)


def _agreement(stores: Sequence[Store], metric: str, within: float) -> Figure:
    """The median over tests of the spread of runs; single tests may suffer from other load."""
    asked = f"{len(stores)} runs agree: {metric} within {100 * within:g} %, over the median test"
    values = [store.scalars[metric].dropna() for store in stores if metric in store.scalars]
    if len(values) < 2 or not all(len(each) for each in values):
        return Figure(asked, "no values", None)
    apart = [max(each) / min(each) - 1 for each in zip(*values, strict=True)]
    middle = sorted(apart)[len(apart) // 2]
    return Figure(asked, f"{100 * middle:.2f} %, at most {100 * max(apart):.2f} %", middle <= within)


def below_bounds(store: Store) -> Figure:
    """No bandwidth is above the bound of the link as it ran."""
    asked = "no bandwidth above the spec bound of the link as it ran"
    rows = explain_run(store).rows
    if not rows:
        return Figure(asked, "the link is not known", None)
    wire = [
        row.value_gbps / min(each.gbps for each in row.answer.ceilings if each.bound.startswith("wire"))
        for row in rows
    ]
    return Figure(asked, f"{100 * max(wire):.1f} % of it at most, {len(wire)} tests", max(wire) <= 1.0)


def _bandwidths(store: Store, name: str, is_large: Callable[[int], bool]) -> list[float]:
    rows = store.scalars
    chosen = rows[(rows["name"] == name) & rows["size_bytes"].map(is_large)]
    return [float(value) for value in chosen["bandwidth"].dropna()] if "bandwidth" in chosen else []


def _share_of_engine(store: Store, command: str, engine: str) -> float | None:
    own = _bandwidths(store, command, lambda size: size == LARGE_BYTES)
    copied = _bandwidths(store, engine, lambda size: size > LARGE_BYTES)
    return max(own) / max(copied) if own and copied else None


def _of_engine(store: Store, command: str, engine: str) -> Figure:
    asked = f"{command} of {LARGE_BYTES} B reaches {OF_ENGINE} of {engine}"
    share = _share_of_engine(store, command, engine)
    if share is None:
        return Figure(asked, "no values", None)
    return Figure(asked, f"{share:.3f}", share >= OF_ENGINE)


def _reads(store: Store) -> Figure:
    """Reads reach the copy engine's bandwidth, or fits explain what holds them."""
    asked = (
        f"BW_CMD_RD of {LARGE_BYTES} B reaches {OF_ENGINE} of BW_DMA_RD, or fits are within {100 * FIT_WITHIN:g} %"
    )
    share = _share_of_engine(store, "BW_CMD_RD", "BW_DMA_RD")
    sweeps = explain_run(store).sweeps
    if share is None or not sweeps:
        return Figure(asked, "no values", None)
    worst = max(sweep.worst for sweep in sweeps)
    fits = "; ".join(
        f"{sweep.size_bytes} B: T {sweep.round_trip_ns.value:.0f} ns, N {sweep.in_flight.value:.1f}, {sweep.holds}"
        for sweep in sweeps
    )
    found = f"{share:.3f}; fits within {100 * worst:.1f} %: {fits}"
    return Figure(asked, found, share >= OF_ENGINE or worst <= FIT_WITHIN)


def windows_alike(store: Store) -> Figure:
    """Small reads take the same time over all windows that any cache holds."""
    asked = f"LAT_CMD_RD, 8 B, host-warm, windows to 1 MiB: medians within {100 * WINDOWS_ALIKE:g} %"
    rows = store.scalars.query("name == 'LAT_CMD_RD' and size_bytes == 8 and cache == 'host-warm'")
    medians = rows[rows["window_bytes"] <= ALIKE_WINDOW_BYTES].get("median")
    if medians is None or len(medians.dropna()) < 2:
        return Figure(asked, "no values", None)
    apart = medians.max() / medians.min() - 1
    found = f"{100 * apart:.2f} %: {medians.min():.0f} to {medians.max():.0f} ns"
    return Figure(asked, found, bool(apart <= WINDOWS_ALIKE))


def measured(folder: Path, device: str, options: Path | None) -> list[Store]:
    """Open the runs, and make missing ones."""
    folder.mkdir(exist_ok=True)
    wanted = [("cuda-quick", folder / f"quick-{number}.db") for number in (1, 2, 3)]
    for suite, output in [*wanted, ("cuda", folder / "cuda.db")]:
        if not output.exists() or open_store(output).incomplete:
            backend = devices.open_kind(device, read_toml(options) if options else None)
            devices.run(backend, load_suite(suite), output, resume=output.exists(), progress=_show)
            print(file=sys.stderr)
    return [open_store(output) for _, output in wanted]


def _show(done: int, total: int, family: str, name: str) -> None:
    print(f"\r{done} of {total} {family} {name:20}", end="", file=sys.stderr)


def main() -> None:
    """Run, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", help="as for pcielab run")
    parser.add_argument("--options", type=Path, help="a file of the device's options (*.toml)")
    parser.add_argument("--folder", type=Path, default=Path("gpu"))
    arguments = parser.parse_args()
    try:
        stores = measured(arguments.folder, arguments.device, arguments.options)
    except (InputError, RunError) as error:
        sys.exit(f"error: {error}")
    found = list(figures(stores))
    print(stores[0].manifest["device"]["name"])
    for figure in found:
        verdict = {True: "met", False: "NOT MET", None: "not known"}[figure.met]
        print(f"{verdict:9} {figure.asked}: {figure.found}")
    sys.exit(0 if all(figure.met for figure in found) else 1)


if __name__ == "__main__":
    main()
