"""`export pcie-bench`: a folder in the published format, so that tools made for it work on any store.

Each family is a file in three forms; details families add their distributions in three forms; attachments are
files. Plots made for the published data find every `.dat` file with its sections in order, and the modelled
curves. The columns have no room for the origin, so `ORIGIN.txt` has it.
"""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from pcielab.errors import refusal
from pcielab.formats.exporters.exporter import Exporter
from pcielab.formats.exporters.pcie_bench.curves import curve_files, link_of
from pcielab.formats.exporters.pcie_bench.distributions import cdf_of_none, distribution_files
from pcielab.formats.exporters.pcie_bench.rows import Row, dat_file, row_files, sections
from pcielab.formats.exporters.pcie_bench.shape import Shape
from pcielab.formats.published import ORIGIN_FILE, Timer
from pcielab.library.link import Link
from pcielab.library.suites.benchmark import BENCHMARKS
from pcielab.outputs import check_folder, check_name, write_folder
from pcielab.store import Store


def _write(store: Store, output: Path, *, overwrite: bool) -> list[str]:
    store.require_kind("transfers", "the published format")
    check_folder(output, overwrite=overwrite, mark=ORIGIN_FILE)
    timer = Timer.of_manifest(store.manifest, str(store.path))
    families = _families(store, timer)
    if not families:
        raise refusal(
            "missing", f"{store.path}: holds no finished test that the published format knows: nothing to export"
        )
    shape = Shape(store.path, timer)
    files: dict[str, str] = {}
    for family, rows in families.items():
        check_name(family, "family", store.path)
        _add(files, _family_files(family, store, rows, shape), f"{store.path}: family {family!r}")
    for family in shape.lacking_families(families):
        _add(files, _lacking_files(family, shape), f"{store.path}: family {family!r}")
    for name, content in store.attachments.items():
        check_name(name, "attachment", store.path)
        _add(files, {name: content}, f"{store.path}: attachment {name!r}")
    link, known = link_of(store.manifest)
    _add(files, curve_files(link), f"{store.path}: modelled curves")
    _add(files, {ORIGIN_FILE: _origin(store, timer, families, shape, link, known)}, str(store.path))
    contents = {name: content.encode() for name, content in files.items()}
    write_folder(output, contents, overwrite=overwrite, mark=ORIGIN_FILE)
    return shape.notes()


def _family_files(family: str, store: Store, rows: list[Row], shape: Shape) -> dict[str, str]:
    published = sections(shape.rows(family))
    files = row_files(family, rows, lambda found: shape.ordered(family, found, published))
    if any(row.test["details"] for row in rows):
        files |= distribution_files(family, store, rows, shape)
    return files


def _lacking_files(family: str, shape: Shape) -> dict[str, str]:
    """The files that plots read of a published family that the store lacks."""
    rows = shape.rows(family)
    files = {f"{family}.dat": dat_file(family, shape.ordered(family, [], sections(rows)))}
    if any(row.test["details"] for row in rows):
        files |= cdf_of_none(family, shape)
    return files


def _add(files: dict[str, str], more: Mapping[str, str], subject: str) -> None:
    """Add files; refuse one that exists already."""
    taken = files.keys() & more.keys()
    if taken:
        raise refusal("exists", f"{subject}: would overwrite another file of the export, {min(taken)}")
    files |= more


def _families(store: Store, timer: Timer) -> dict[str, list[Row]]:
    """The rows of each file, in suite order; a family's name gets the prefix of its kind if it lacks one."""
    families: dict[str, list[Row]] = defaultdict(list)
    for record in store.scalars.to_dict("records"):
        test = {str(column): value for column, value in record.items()}
        if test["status"] != "ok" or test["name"] not in BENCHMARKS:
            continue
        kind = "lat" if test["name"].startswith("LAT_") else "bw"
        family = test["family"] if test["family"].startswith(f"{kind}_") else f"{kind}_{test['family']}"
        families[family].append(Row(store.path, test, timer))
    return families


def _origin(
    store: Store, timer: Timer, families: dict[str, list[Row]], shape: Shape, link: Link, link_is_known: bool
) -> str:
    rows = sum(map(len, families.values()))
    facts = {
        "origin": store.origin,
        "title": store.title,
        "device": store.manifest["device"].get("name", "unknown"),
        "tick_ns": timer.tick_ns,
        "tick_cycles": timer.cycles,
        "version": store.manifest.get("version", "unknown"),
        "rows": rows,
        "rows left out": len(store.tests) - rows,
        "curves": f"modelled (sigcomm18), Gen{link.generation} x{link.lanes}, MPS {link.mps_bytes}, MRRS "
        f"{link.mrrs_bytes}" + ("" if link_is_known else ", the published card's: the store names no link"),
    }
    if store.incomplete:
        facts["incomplete"] = store.extent
    lines = [f"{key}: {value}" for key, value in facts.items()]
    lines += [
        f"filled with NaN: {count} of {total} sections of {file}.dat"
        for file, (count, total) in shape.filled.items()
    ]
    note = (
        "The column BW (GB/s) holds Gb/s, as in every published file. Tests are left out that have no numbers,\n"
        "or that the published format does not know. bw_calc.dat, pcie_bw.dat and nic_bw.dat are modelled,\n"
        "whatever the origin of the rest."
    )
    return "\n".join([*lines, "", note, ""])


EXPORTER = Exporter(
    "pcie-bench", "Write a folder in the published format: .csv, .dat and .txt per family.", _write
)
