"""Types of the compiled half of pcielab; stubtest holds this file to the module."""

__version__: str
