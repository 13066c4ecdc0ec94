"""pcielab: model, simulate, measure and explain PCIe performance."""

from pcielab._core import __version__
from pcielab.store import Store, open_store

__all__ = ["Store", "__version__", "open_store"]
