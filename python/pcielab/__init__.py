"""pcielab: model, simulate, measure and explain PCIe performance."""

from pcielab._core import __version__
from pcielab.errors import InputError, RunError
from pcielab.store import Store, open_store

__all__ = ["InputError", "RunError", "Store", "__version__", "open_store"]
