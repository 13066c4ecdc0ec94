"""Predicts each measured machine with device constants fitted on the others: two tables of docs/concepts/trust.md.

For each machine, with all its IOMMU and NUMA variants: fit the device's constants on the runs of the others,
calibrate each variant on its pack alone, simulate the published suite, and score rows outside the pack.
The errors by class of row are shipped as `known_errors.json`. Learnt from the other machines alone, they say how
many of a machine's values such intervals hold. Constants, profiles and stores stay in a working folder; `--fresh`
empties it, `--system` selects variants.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

import pcielab
from marked import write_between
from pcielab.analysis.calibrate import Measured, calibrate, read_measured, read_pack
from pcielab.analysis.calibrate.card import fit_card
from pcielab.analysis.validate import METRICS, Score, judge, score, write_bands
from pcielab.analysis.validate.intervals import differences
from pcielab.analysis.validate.known_errors import FILE as KNOWN_ERRORS, Difference, learn
from pcielab.formats.importers import import_pcie_bench
from pcielab.library.profiles import names
from pcielab.store.identity import ASKED

PAGE = Path("docs/concepts/trust.md")
START, END = "<!-- leave one out: make leave-one-out -->", "<!-- end of leave one out -->"
HEAD = [
    "| system | bandwidth %, median / mean / p95 | RD mean / p95 | WR mean / p95 | RW mean / p95 "
    "| windows >= 512 KiB mean / p95 | median latency ns, mean / p95 | within a tick "
    "| average latency ns, median / p95 | distribution ns, median / p95 |",
    "|---|---|---|---|---|---|---|---|---|---|",
]
COVERAGE_START, COVERAGE_END = "<!-- coverage: make leave-one-out -->", "<!-- end of coverage -->"
COVERAGE_HEAD = [
    "| system | bandwidths | inside | median latencies | inside | average latencies | inside |",
    "|---|---|---|---|---|---|---|",
]
DEVICE = "nfp6000"
"""The device whose twins' errors are learnt."""
REPRESENTATIVES = {"snb": "snb", "ib": "ib-000", "hsw2620": "hsw2620"}
"""Fully published machines without idle states, each with the variant on which the device is fitted."""
FROM_PACKS = {"bdw": "bdw-000", "hsw2637": "hsw2637"}
"""The same for machines of which only packs are looked at."""


def machine_of(system: str) -> str:
    """The machine of a variant."""
    return system.split("-")[0]


def folder_of(system: str, data: Path) -> Path | None:
    """The published folder that the provenance of a shipped system names, if it exists."""
    source = pcielab.resolve(system).provenance["system"].source
    folder = data / source.split()[0].rstrip(":")
    return folder if folder.is_dir() and folder != data else None


def rows_of(system: str, data: Path) -> Path | None:
    """The folder with the rows of a system: a full run, or a pack; None if nobody measured it."""
    pack = data.parent / "packs" / pcielab.resolve(system).provenance["system"].source.split()[0]
    return folder_of(system, data) or (pack if pack.is_dir() else None)


def machines_of_card(data: Path, without: str | None = None) -> list[Measured]:
    """The rows of all machines on which the device's constants are fitted, but one."""
    systems = {**REPRESENTATIVES, **FROM_PACKS}
    return [
        read_measured(folder)
        for machine, system in systems.items()
        if machine != without and (folder := rows_of(system, data))
    ]


def constants(machine: str, data: Path, pack: Path, work: Path) -> dict[str, float | int]:
    """Fit the device's constants on all machines but one."""
    kept = work / f"card-without-{machine}.json"
    if not kept.exists():
        print(f"{machine}: fitting the device on the other machines", file=sys.stderr)
        found = fit_card(machines_of_card(data, machine), read_pack(pack))
        kept.write_text(json.dumps({key: one.value for key, one in found.items() if one.identified}, indent=1))
    values: dict[str, float | int] = json.loads(kept.read_text())
    return values


def scored(system: str, folder: Path, pack: Path, card: dict[str, float | int], work: Path) -> Score:
    """The score of a variant, calibrated on its pack with these constants of the device."""
    print(f"{system}: calibrating and simulating", file=sys.stderr)
    profile, run, measured = (work / f"{system}{end}" for end in (".toml", ".db", "-measured.db"))
    if not run.exists():
        twin = calibrate(read_measured(folder, pack), system, constants=card)
        profile.write_text(twin.to_toml())
        pcielab.simulate(pcielab.resolve(str(profile)), pcielab.load_suite("paper"), run)
    import_pcie_bench(folder, measured, overwrite=True)
    return score(pcielab.open_store(measured), pcielab.open_store(run), read_pack(pack))


def row(system: str, result: Score) -> str:
    """The line of a variant."""
    table = result.by_test.set_index(["group", "metric"])

    def shown(group: str, metric: str, *columns: str) -> str:
        if (group, metric) not in table.index:
            return "-"
        found: pd.Series = table.loc[(group, metric)]
        return " / ".join(f"{found[column]:.1f}" for column in columns)

    cells = [
        f"`{system}`",
        shown("all", "bandwidth", "median", "mean", "p95"),
        *(shown(f"BW_DMA_{kind}", "bandwidth", "mean", "p95") for kind in ("RD", "WR", "RW")),
        shown("windows of 512 KiB and more", "bandwidth", "mean", "p95"),
        shown("all", "median latency", "mean", "p95"),
        f"{result.medians_within_a_tick:.1%}",
        shown("all", "average latency", "median", "p95"),
        shown("all", "distribution", "median", "p95"),
    ]
    return f"| {' | '.join(cells)} |"


def idle_line(system: str, result: Score, work: Path) -> str | None:
    """A note on a machine with idle states."""
    resolved = pcielab.resolve(str(work / f"{system}.toml")).system
    if resolved.host.idle is None:
        return None
    bands = write_bands(resolved, pcielab.open_store(work / f"{system}-measured.db"))
    inside = sum(band.inside for band in bands) / len(bands)
    reads = result.by_test.set_index(["group", "metric"]).loc[("BW_DMA_RD", "bandwidth")]
    return (
        f"`{system}`, with idle states: {inside:.0%} of {len(bands)} write bandwidths lie in the middle 90 % of "
        f"the twin's own runs; read bandwidths are {reads['median']:.0f} % off in the median; "
        f"{result.medians_within_a_tick:.0%} of the median latencies are within a tick."
    )


def repeats_line(systems: Sequence[str], work: Path) -> str:
    """By how much two measurements of one test in one run differ, over all systems."""
    found: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for system in systems:
        rows = pcielab.open_store(work / f"{system}-measured.db").scalars
        for _, same in rows.groupby(["name", *ASKED], sort=False):
            for metric, apart in found.items():
                values = same[metric].dropna() if metric in same else same.iloc[:0, 0]
                apart += [abs(float(one - values.iloc[0])) / _unit(metric, values.iloc[0]) for one in values[1:]]
    bandwidth, median, average = (pd.Series(found[metric]).quantile([0.5, 0.95]) for metric in METRICS)
    counts = f"{len(found['bandwidth'])} bandwidths, {len(found['median'])} latencies"
    return (
        f"Tests that a run measured twice ({counts}) differ by {bandwidth[0.5]:.2f} % (median) and "
        f"{bandwidth[0.95]:.2f} % (95 % of them) in bandwidth, by {median[0.5]:.1f} and {median[0.95]:.1f} ns in "
        f"the median latency, and by {average[0.5]:.1f} and {average[0.95]:.1f} ns in the average."
    )


def _unit(metric: str, value: float) -> float:
    return value / 100 if metric == "bandwidth" else 1.0


def coverage(scores: Mapping[str, Score], found: Sequence[Difference]) -> list[str]:
    """For each system, the share of measured values inside intervals learnt from the other machines alone."""
    lines = []
    for system, result in scores.items():
        others = learn((one for one in found if one.machine != machine_of(system)), DEVICE)
        judged = judge(result.comparison, others)
        cells = [f"`{system}`"]
        for metric in METRICS:
            inside = [one.inside for one in judged if one.metric == metric]
            cells += [str(len(inside)), f"{sum(inside) / len(inside):.1%}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--system", action="append", help="only this variant; repeatable; leaves the page unchanged"
    )
    parser.add_argument("--fresh", action="store_true", help="empty the working folder first")
    parser.add_argument("--pack", type=Path, help="rows for calibration [default: beside PCIELAB_DATA]")
    parser.add_argument("--work", type=Path, default=Path("leave-one-out"), help="working folder")
    options = parser.parse_args(arguments)
    data = Path(
        os.environ.get("PCIELAB_DATA")
        or sys.exit("leave-one-out: set PCIELAB_DATA to the folder of the published data")
    )
    pack = options.pack or data.parent / "calibration-pack.csv"
    options.work.mkdir(exist_ok=True)
    if options.fresh:
        for path in options.work.iterdir():
            path.unlink()
    lines, notes = [], []
    scores: dict[str, Score] = {}
    for system in options.system or [name for name in names("system") if folder_of(name, data)]:
        folder = folder_of(system, data) or sys.exit(f"leave-one-out: {system}: no published measurements")
        card = constants(machine_of(system), data, pack, options.work)
        result = scored(system, folder, pack, card, options.work)
        lines.append(row(system, result))
        if (line := idle_line(system, result, options.work)) is not None:
            notes.append(line)
        else:
            scores[system] = result
        print(lines[-1], file=sys.stderr)
    table = [*HEAD, *lines, "", *notes, repeats_line(list(scores), options.work)]
    found = [
        one for name, result in scores.items() for one in differences(result.comparison, machine_of(name), name)
    ]
    covered = [*COVERAGE_HEAD, *coverage(scores, found)]
    if not options.system:
        write_between(PAGE, START, END, table)
        write_between(PAGE, COVERAGE_START, COVERAGE_END, covered)
        KNOWN_ERRORS.write_text(learn(found, DEVICE).to_json())
    print("\n".join([*table, "", *covered]))


if __name__ == "__main__":
    main()
