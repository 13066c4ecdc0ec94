"""Other tools' files: `importers` read them into stores, `exporters` write them from stores.

Modules that both share: `published` for the published pcie-bench files, `raw_results` for those of the NetFPGA
design, `spreadsheet` to guard CSV cells.
"""

from pcielab.on_demand import names_on_demand

__getattr__, __dir__ = names_on_demand(__name__, __file__)
