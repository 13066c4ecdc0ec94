"""Import a folder in the published pcie-bench format.

All files are checked before anything is written. Families are in the order of a full run, rows in file order,
duplicates kept; every `sys-*.txt` is attached.
"""

import json
from pathlib import Path
from typing import Any

from pcielab._core import StoreWriter
from pcielab.errors import found_in, refusal
from pcielab.formats.importers.pcie_bench.distributions import add_distributions
from pcielab.formats.importers.pcie_bench.origin import FolderOrigin, device_facts, folder_origin, host_facts
from pcielab.formats.importers.pcie_bench.rows import read_rows
from pcielab.formats.importers.pcie_bench.text import read_text
from pcielab.formats.published import FAMILIES
from pcielab.outputs import check_new_store


def import_pcie_bench(directory: str | Path, output: str | Path, *, overwrite: bool = False) -> None:
    """Read a published folder and write it as a store.

    Args:
        directory: Holds `bw_*.csv` and `lat_*.csv`.
        output: The store to create.
        overwrite: Replace an existing file.

    Raises:
        InputError: There are no data, a file is foreign, truncated or damaged, or the output is refused; nothing
            has been written.
    """
    directory = Path(directory)
    check_new_store(Path(output), overwrite=overwrite)
    provenance = folder_origin(directory)
    records: list[dict[str, Any]] = []
    for path in _family_files(directory):
        family = read_rows(path, provenance.timer)
        if path.stem.endswith("_details"):
            add_distributions(directory, path.stem, family, provenance.timer)
        records.extend(family)
    texts = {path.name: read_text(path) for path in sorted(directory.glob("sys-*.txt"))}
    manifest = _manifest(directory, texts, provenance)
    with StoreWriter.create(output, json.dumps(manifest), overwrite=overwrite) as store:
        for test, record in enumerate(records):
            parameters = json.dumps(record["parameters"], sort_keys=True, separators=(",", ":"))
            with found_in(directory):
                store.write_test(json.dumps(record | {"id": test, "status": "ok", "parameters": parameters}))
        for name, content in texts.items():
            store.attach(name, content)


def _family_files(directory: Path) -> list[Path]:
    """The families' files in run order; families that the suite lacks follow in alphabetical order."""
    if not directory.is_dir():
        raise refusal(
            "not-found", f"{directory}: not a folder: give one with published bw_*.csv and lat_*.csv files"
        )
    files = {
        path.stem: path
        for path in sorted(directory.glob("*.csv"))
        if path.stem.startswith(("bw_", "lat_")) and not path.stem.endswith("_cdf")
    }
    if not files:
        raise refusal(
            "missing",
            f"{directory}: holds no bw_*.csv or lat_*.csv file: give a folder in the published pcie-bench format",
        )
    known = [files.pop(family) for family in FAMILIES if family in files]
    return known + list(files.values())


def _manifest(directory: Path, texts: dict[str, str], provenance: FolderOrigin) -> dict[str, Any]:
    name = directory.resolve().name
    return {
        "origin": provenance.origin,
        "title": provenance.title or name,
        "suite": "paper",
        "system": None,
        "overrides": {},
        "options": {},
        "device": device_facts(texts, provenance.device, provenance.timer),
        "host": host_facts(texts),
        "source": {"format": "pcie-bench", "directory": name},
    }
