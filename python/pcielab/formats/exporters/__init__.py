"""Exporters write a store in a format that other tools read, with the origin of the numbers.

A new exporter is an `Exporter` of a module, listed here; the command line then has a command for it.
"""

from collections.abc import Sequence
from pathlib import Path

from pcielab.errors import refusal
from pcielab.formats.exporters import netfpga, pcie_bench, perfetto
from pcielab.formats.exporters.exporter import CSV, JSON, PARQUET, REQUESTS, TRACE, Exporter
from pcielab.store import Store

EXPORTERS = {
    one.name: one
    for one in (
        pcie_bench.EXPORTER,
        CSV,
        PARQUET,
        JSON,
        netfpga.EXPORTER,
        REQUESTS,
        TRACE,
        perfetto.EXPORTER,
    )
}


def export(store: Store, name: str, output: str | Path, *, overwrite: bool = False) -> Sequence[str]:
    """Write a store in a format.

    Args:
        store: The store.
        name: One of `EXPORTERS`.
        output: The file to write; for `pcie-bench`, the folder.
        overwrite: Replace an existing output.

    Returns:
        Warnings for the reader of the output, a line each.

    Raises:
        InputError: The format is unknown, the output is refused, or the store lacks data of the format.
    """
    if name not in EXPORTERS:
        raise refusal("not-found", f"{name!r} is no format: give one of {', '.join(EXPORTERS)}")
    return EXPORTERS[name].write(store, Path(output), overwrite=overwrite) or ()


__all__ = ["EXPORTERS", "Exporter", "export"]
