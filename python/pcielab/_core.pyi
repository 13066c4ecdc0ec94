"""Types of the compiled half of pcielab; stubtest holds this file to the module."""

__all__ = ["InputError", "RunError", "__version__"]

__version__: str

class InputError(ValueError): ...
class RunError(Exception): ...
