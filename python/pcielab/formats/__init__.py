"""Other tools' files: `importers` read them into stores, `exporters` write them from stores.

Modules that both share: `published` for the published pcie-bench files, `raw_results` for those of the NetFPGA
design, `spreadsheet` to guard CSV cells.
"""

from typing import TYPE_CHECKING

from pcielab.on_demand import names_on_demand

if TYPE_CHECKING:
    from pcielab.formats import exporters, importers

__all__ = ["exporters", "importers"]

__getattr__ = names_on_demand(__name__, {}, subpackages=["exporters", "importers"])
