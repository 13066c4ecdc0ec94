"""`export pcie-bench`: a folder in the published format, so that tools made for it work on any store.

Each family is a file in three forms, the details families have their distributions in three forms more,
attachments come back as files. The columns have no room for the origin, so `ORIGIN.txt` beside them has it.
"""

from collections import defaultdict
from pathlib import Path

from pcielab.errors import InputError
from pcielab.exporters.exporter import Exporter
from pcielab.exporters.pcie_bench.distributions import distribution_files
from pcielab.exporters.pcie_bench.rows import Row, row_files
from pcielab.outputs import check_folder, check_name, write_folder
from pcielab.published import ORIGIN_FILE, Timer
from pcielab.store import Store
from pcielab.suites.benchmark import BENCHMARKS


def _write(store: Store, output: Path, *, overwrite: bool) -> None:
    store.require_kind("transfers", "the published format")
    check_folder(output, overwrite=overwrite, mark=ORIGIN_FILE)
    timer = Timer.of_manifest(store.manifest, str(store.path))
    families = _families(store, timer)
    if not families:
        raise InputError(
            f"{store.path}: holds no finished test that the published format knows: nothing to export"
        )
    files = {ORIGIN_FILE: _origin(store, timer, sum(map(len, families.values())))}
    for family, rows in families.items():
        check_name(family, "family", store.path)
        _add(files, row_files(family, rows), f"{store.path}: family {family!r}")
        if any(row.test["details"] for row in rows):
            _add(files, distribution_files(family, store, rows), f"{store.path}: family {family!r}")
    for name, content in store.attachments.items():
        check_name(name, "attachment", store.path)
        _add(files, {name: content}, f"{store.path}: attachment {name!r}")
    contents = {name: content.encode() for name, content in files.items()}
    write_folder(output, contents, overwrite=overwrite, mark=ORIGIN_FILE)


def _add(files: dict[str, str], more: dict[str, str], what: str) -> None:
    """Add files, none of which may be there already."""
    taken = files.keys() & more.keys()
    if taken:
        raise InputError(f"{what}: has the name of another file of the export, {min(taken)}")
    files |= more


def _families(store: Store, timer: Timer) -> dict[str, list[Row]]:
    """The rows of each file, in suite order. A family whose name does not say its kind gets it put before."""
    families: dict[str, list[Row]] = defaultdict(list)
    for record in store.scalars.to_dict("records"):
        test = {str(column): value for column, value in record.items()}
        if test["status"] != "ok" or test["name"] not in BENCHMARKS:
            continue
        kind = "lat" if test["name"].startswith("LAT_") else "bw"
        family = test["family"] if test["family"].startswith(f"{kind}_") else f"{kind}_{test['family']}"
        families[family].append(Row(store.path, test, timer))
    return families


def _origin(store: Store, timer: Timer, rows: int) -> str:
    facts = {
        "origin": store.origin,
        "title": store.title,
        "device": store.manifest["device"].get("name", "unknown"),
        "tick_ns": timer.tick_ns,
        "tick_cycles": timer.cycles,
        "version": store.manifest.get("version", "unknown"),
        "rows": rows,
        "rows left out": len(store.tests) - rows,
    }
    if store.incomplete:
        facts["incomplete"] = store.extent
    lines = [f"{key}: {value}" for key, value in facts.items()]
    note = (
        "The column BW (GB/s) holds Gb/s, as in every published file. Tests are left out that have no numbers,\n"
        "or that the published format does not know."
    )
    return "\n".join([*lines, "", note, ""])


EXPORTER = Exporter(
    "pcie-bench", "Write a folder in the published format: .csv, .dat and .txt per family.", _write
)
