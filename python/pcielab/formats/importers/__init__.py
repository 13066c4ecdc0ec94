"""Importers make ordinary stores from other tools' measurements."""

from pcielab.formats.importers.capture import CaptureFile, import_capture
from pcielab.formats.importers.netfpga import import_netfpga
from pcielab.formats.importers.pcie_bench import import_pcie_bench
from pcielab.formats.importers.tools.output import import_output

__all__ = ["CaptureFile", "import_capture", "import_netfpga", "import_output", "import_pcie_bench"]
