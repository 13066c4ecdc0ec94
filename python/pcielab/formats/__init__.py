"""Other tools' files: `importers` make stores of them, `exporters` make them of stores.

What reading and writing a format share stands beside both: `published` has the words of the published pcie-bench
files, `raw_results` those of the NetFPGA design, `spreadsheet` what a CSV file has to beware of.
"""

from typing import TYPE_CHECKING

from pcielab.on_demand import names_on_demand

if TYPE_CHECKING:
    from pcielab.formats import exporters, importers

__all__ = ["exporters", "importers"]

__getattr__ = names_on_demand(__name__, {}, rooms=["exporters", "importers"])
