"""Exporters write a store in a format that other tools read. Every one of them carries the origin of the numbers.

A new one is a module with an `EXPORTER`, listed here; the command line offers it by itself.
"""

from collections.abc import Sequence
from pathlib import Path

from pcielab.errors import InputError
from pcielab.formats.exporters import csv, json, netfpga, parquet, pcie_bench, perfetto, requests
from pcielab.formats.exporters.exporter import Exporter
from pcielab.store import Store

EXPORTERS = {
    module.EXPORTER.name: module.EXPORTER
    for module in (pcie_bench, csv, parquet, json, netfpga, requests, perfetto)
}


def export(store: Store, name: str, output: str | Path, *, overwrite: bool = False) -> Sequence[str]:
    """Write a store in a format.

    Args:
        store: What to write.
        name: One of `EXPORTERS`.
        output: The file to write; for `pcie-bench`, the folder.
        overwrite: Replace what is there.

    Returns:
        What a reader of the output has to be warned of, a line each.

    Raises:
        InputError: The format is unknown, the output is refused, or the store lacks what the format needs.
    """
    if name not in EXPORTERS:
        raise InputError(f"{name!r} is no format: give one of {', '.join(EXPORTERS)}")
    return EXPORTERS[name].write(store, Path(output), overwrite=overwrite) or ()


__all__ = ["EXPORTERS", "Exporter", "export"]
