"""Read nvbandwidth, text or JSON, versions 0.2 to 0.10.

nvbandwidth measures copies between host and GPUs, and between GPUs, and prints a table for each test. Each cell
of a table becomes a test of the store, and so does the sum of several. Neither form gives the size of the buffer.

Source: the program's own output; https://github.com/NVIDIA/nvbandwidth, its README.
"""

from pcielab.formats.importers.tools.nvbandwidth.json import read_json
from pcielab.formats.importers.tools.nvbandwidth.text import BEGINS, read_tables

__all__ = ["BEGINS", "read_json", "read_tables"]
