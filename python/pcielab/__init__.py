"""pcielab: model, simulate, measure and explain PCIe performance."""

from pcielab._core import __version__

__all__ = ["__version__"]
