"""Differences between simulated and measured systems: the table of `docs/concepts/simulated-machine.md`.

Runs the published suite on every shipped system with measurements in PCIELAB_DATA, except those with idle states.
Keeps the stores in a working folder, resumes existing runs, and writes the table between the page's markers.
"""

import os
import sys
from pathlib import Path

import pcielab
from marked import write_between
from pcielab.analysis.compare.pairs import compare
from pcielab.formats.importers import import_pcie_bench
from pcielab.library.profiles import names

PAGE = Path("docs/concepts/simulated-machine.md")
START, END = "<!-- closeness: make closeness -->", "<!-- end of closeness -->"
HEAD = [
    "| system | rows | bandwidth %, median | mean | p95 "
    "| median latency ns, mean | p95 | average latency ns, median | p95 |",
    "|---|---|---|---|---|---|---|---|---|",
]


def measured_folder(system: pcielab.ResolvedSystem, data: Path) -> Path | None:
    """The published folder that the provenance of a system names, if it exists."""
    folder = data / system.provenance["system"].source.split()[0].rstrip(":")
    return folder if folder.is_dir() and folder != data else None


def row(name: str, data: Path, work: Path) -> str | None:
    """The line of one system, or None without a comparison."""
    system = pcielab.resolve(name)
    folder = measured_folder(system, data)
    # Idle states cause stalls of milliseconds, so that averages settle only at full counts.
    if folder is None or system.system.host.idle is not None:
        return None
    print(f"{name}: simulating", file=sys.stderr)
    simulated, measured = work / f"{name}.db", work / f"{name}-measured.db"
    pcielab.simulate(system, pcielab.load_suite("paper"), simulated, resume=True)
    import_pcie_bench(folder, measured, overwrite=True)
    comparison = compare(pcielab.open_store(measured), pcielab.open_store(simulated))
    every = comparison.summary.query("name == 'all'").set_index("metric")
    band, med, avg = (every.loc[metric] for metric in ("bandwidth", "median", "average"))
    return (
        f"| `{name}` | {len(comparison.rows)} | {band['median']:.1f} | {band['mean']:.1f} | {band['p95']:.1f} "
        f"| {med['mean']:.1f} | {med['p95']:.1f} | {avg['median']:.1f} | {avg['p95']:.1f} |"
    )


def main() -> None:
    """Write the table."""
    data = os.environ.get("PCIELAB_DATA")
    if not data:
        sys.exit("closeness: set PCIELAB_DATA to the folder of the published data")
    work = Path("closeness")
    work.mkdir(exist_ok=True)
    lines = [line for name in names("system") if (line := row(name, Path(data), work))]
    write_between(PAGE, START, END, [*HEAD, *lines])
    print("\n".join([*HEAD, *lines]))


if __name__ == "__main__":
    main()
