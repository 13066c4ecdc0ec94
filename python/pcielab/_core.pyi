"""Types of the compiled half of pcielab; stubtest holds this file to the module."""

__all__ = [
    "InputError",
    "RunError",
    "__version__",
    "model_bandwidth",
    "model_check_nic",
    "model_nic",
    "model_sizing",
]

__version__: str

class InputError(ValueError): ...
class RunError(Exception): ...

def model_bandwidth(question: str) -> str: ...
def model_check_nic(device: str) -> None: ...
def model_nic(question: str) -> str: ...
def model_sizing(question: str) -> str: ...
