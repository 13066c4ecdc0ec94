"""Types of the compiled half of pcielab; stubtest holds this file to the module."""

from collections.abc import Callable
from os import PathLike
from typing import final

__all__ = [
    "FabricRun",
    "FabricShares",
    "InputError",
    "Predictor",
    "RunError",
    "StoreWriter",
    "__version__",
    "card_intervals_ns",
    "check_message_suite",
    "check_suite",
    "check_system",
    "fabric_check",
    "fabric_edges",
    "fabric_estimate",
    "fabric_influence",
    "fabric_rounds",
    "fabric_simulate",
    "model_bandwidth",
    "model_check_messages",
    "model_check_nic",
    "model_loopback",
    "model_message_crossings",
    "model_messages",
    "model_nic",
    "model_sizing",
    "run_simulated",
    "run_simulated_messages",
]

__version__: str

class InputError(ValueError): ...
class RunError(Exception): ...

@final
class FabricRun:
    @property
    def bandwidth(self) -> bytes: ...
    @property
    def load(self) -> bytes: ...
    @property
    def phases(self) -> list[bytes]: ...
    @property
    def tlp_hops(self) -> int: ...

@final
class FabricShares:
    @property
    def standalone(self) -> bytes: ...
    @property
    def bandwidth(self) -> bytes: ...
    @property
    def limit(self) -> bytes: ...
    @property
    def load(self) -> bytes: ...
    @property
    def crossing(self) -> bytes: ...

@final
class Predictor:
    def __new__(cls, suite: str, places: list[int], *, seed: int, jobs: int) -> Predictor: ...
    def predict(
        self, systems: str, wanted: list[list[int]], *, effort: str, progress: Callable[[int, int], None]
    ) -> str: ...

@final
class StoreWriter:
    @staticmethod
    def create(path: str | PathLike[str], manifest: str, *, overwrite: bool = False) -> StoreWriter: ...
    def write_test(self, record: str) -> None: ...
    def attach(self, name: str, content: str) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> StoreWriter: ...
    def __exit__(self, *_exception: object) -> None: ...

def card_intervals_ns(system: str, tests: str) -> list[float]: ...
def check_system(system: str) -> None: ...
def check_message_suite(suite: str) -> None: ...
def check_suite(suite: str) -> None: ...
def fabric_check(fabric: str) -> None: ...
def fabric_edges(fabric: str) -> str: ...
def fabric_estimate(
    fabric: str, sources: bytes, destinations: bytes, standalone: bytes, names: list[str], method: str
) -> FabricShares: ...
def fabric_rounds(
    fabric: str, sources: bytes, destinations: bytes, standalone: bytes, names: list[str]
) -> str: ...
def fabric_influence(
    fabric: str, sources: bytes, destinations: bytes, standalone: bytes, names: list[str], method: str
) -> str: ...
def fabric_simulate(fabric: str, traffic: str, options: str) -> FabricRun: ...
def model_bandwidth(question: str) -> str: ...
def model_check_nic(device: str) -> None: ...
def model_check_messages(profile: str) -> None: ...
def model_loopback(question: str) -> str: ...
def model_message_crossings(question: str) -> str: ...
def model_messages(question: str) -> str: ...
def model_nic(question: str) -> str: ...
def model_sizing(question: str) -> str: ...
def run_simulated(
    path: str | PathLike[str],
    system: str,
    suite: str,
    manifest: str,
    *,
    seed: int,
    samples: str,
    jobs: int,
    resume: bool,
    overwrite: bool,
    progress: Callable[[int, int, str, str], None],
) -> None: ...
def run_simulated_messages(
    path: str | PathLike[str],
    system: str,
    profile: str,
    suite: str,
    manifest: str,
    *,
    seed: int,
    overwrite: bool,
    progress: Callable[[int, int, str, str], None],
) -> None: ...
