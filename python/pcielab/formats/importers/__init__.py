"""Importers make ordinary stores from other tools' measurements."""

from pcielab.formats.importers.netfpga import import_netfpga
from pcielab.formats.importers.pcie_bench import import_pcie_bench
from pcielab.formats.importers.tools.fio import import_fio
from pcielab.formats.importers.tools.nvbandwidth import import_nvbandwidth
from pcielab.formats.importers.tools.perftest import import_perftest

__all__ = ["import_fio", "import_netfpga", "import_nvbandwidth", "import_pcie_bench", "import_perftest"]
