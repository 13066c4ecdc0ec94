"""`Driver` over cuda-bindings, versions 12 and 13."""

import ctypes
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pcielab.devices.cuda.driver import Card, Driver, DriverError, NoDriverError

PACKAGE = "cuda-bindings"
INSTALL = "pip install 'pcielab[cuda13]' (NVIDIA driver 580 or later) or 'pcielab[cuda12]'"


def load_driver() -> Driver:
    """Load the driver of this machine.

    Raises:
        NoDriverError: cuda-bindings is not installed, there is no CUDA driver, or it is too old for cuda-bindings.
    """
    try:
        built_for = version(PACKAGE)
        cuda = import_module("cuda.bindings.driver")
    except (PackageNotFoundError, ImportError):
        raise NoDriverError(
            f"no CUDA driver can be reached: the Python package {PACKAGE} is not installed: {INSTALL}"
        ) from None
    try:
        found = Bindings(cuda)
    except DriverError as error:
        raise NoDriverError(f"the CUDA driver does not start: {error}") from None
    except Exception as error:
        # The class of the exception differs between versions of cuda-bindings.
        raise NoDriverError(
            "no CUDA driver: libcuda.so.1 is missing: install NVIDIA's driver for the GPU (580 or later for "
            f"pcielab[cuda13]), and in a container pass it in ({type(error).__name__})"
        ) from error
    known, needed = found.version(), int(built_for.partition(".")[0])
    if known[0] < needed:
        raise NoDriverError(
            f"the CUDA driver supports CUDA {known[0]}.{known[1]}, and {PACKAGE} {built_for} needs CUDA {needed}: "
            f"install a newer driver, or pip install 'pcielab[cuda{known[0]}]'"
        )
    return found


class Bindings:
    """`Driver` over the module `cuda.bindings.driver`; see `Driver` for the methods."""

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._card: int | None = None
        self._call(cuda.cuInit, 0)

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        code, *values = function(*arguments)
        if int(code) != 0:
            raise self._error(function.__name__, code)
        return values[0] if len(values) == 1 else None

    def _error(self, call: str, code: Any) -> DriverError:
        texts = [self._cuda.cuGetErrorName(code)[1], self._cuda.cuGetErrorString(code)[1]]
        name, text = (str(text.decode()) if text else f"error {int(code)}" for text in texts)
        return DriverError(call, name, text)

    def version(self) -> tuple[int, int]:
        number = int(self._call(self._cuda.cuDriverGetVersion))
        return number // 1000, number % 1000 // 10

    def cards(self) -> list[Card]:
        try:
            count = self._call(self._cuda.cuDeviceGetCount)
        except DriverError as error:
            if error.code == "CUDA_ERROR_NO_DEVICE":
                return []
            raise
        return [self._described(number) for number in range(int(count))]

    def _described(self, number: int) -> Card:
        cuda = self._cuda
        device = self._call(cuda.cuDeviceGet, number)
        names = cuda.CUdevice_attribute

        def attribute(name: str) -> int:
            return int(
                self._call(cuda.cuDeviceGetAttribute, getattr(names, f"CU_DEVICE_ATTRIBUTE_{name}"), device)
            )

        def text(found: bytes) -> str:
            return found.split(b"\0")[0].decode()

        return Card(
            number=number,
            name=text(self._call(cuda.cuDeviceGetName, 128, device)),
            address=text(self._call(cuda.cuDeviceGetPCIBusId, 32, device)).lower(),
            architecture=10 * attribute("COMPUTE_CAPABILITY_MAJOR") + attribute("COMPUTE_CAPABILITY_MINOR"),
            processors=attribute("MULTIPROCESSOR_COUNT"),
            clock_khz=attribute("CLOCK_RATE"),
            l2_bytes=attribute("L2_CACHE_SIZE"),
            memory_bytes=int(self._call(cuda.cuDeviceTotalMem, device)),
            copy_engines=attribute("ASYNC_ENGINE_COUNT"),
            compute_mode={0: "default", 2: "prohibited"}.get(attribute("COMPUTE_MODE"), "exclusive"),
            coherent=bool(attribute("PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES")),
            integrated=bool(attribute("INTEGRATED")),
        )

    def open(self, number: int) -> None:
        # The primary context: the same call in versions 12 and 13, and shared with other libraries of the process.
        context = self._call(self._cuda.cuDevicePrimaryCtxRetain, number)
        self._card = number
        self._call(self._cuda.cuCtxSetCurrent, context)

    def close(self) -> None:
        if self._card is not None:
            number, self._card = self._card, None
            self._call(self._cuda.cuDevicePrimaryCtxRelease, number)

    def register(self, address: int, size_bytes: int) -> int:
        self._call(self._cuda.cuMemHostRegister, address, size_bytes, self._cuda.CU_MEMHOSTREGISTER_DEVICEMAP)
        return int(self._call(self._cuda.cuMemHostGetDevicePointer, address, 0))

    def unregister(self, address: int) -> None:
        self._call(self._cuda.cuMemHostUnregister, address)

    def allocate(self, size_bytes: int) -> int:
        return int(self._call(self._cuda.cuMemAlloc, size_bytes))

    def free(self, pointer: int) -> None:
        self._call(self._cuda.cuMemFree, pointer)

    def load(self, code: bytes) -> int:
        return int(self._call(self._cuda.cuModuleLoadData, code))

    def stream(self) -> int:
        flag = self._cuda.CUstream_flags.CU_STREAM_NON_BLOCKING
        return int(self._call(self._cuda.cuStreamCreate, int(flag)))

    def function(self, module: int, kernel: str) -> int:
        return int(self._call(self._cuda.cuModuleGetFunction, module, kernel.encode()))

    def launch(self, function: int, blocks: int, threads: int, arguments: Sequence[int], stream: int) -> None:
        parameters = (tuple(arguments), (ctypes.c_uint64,) * len(arguments))
        self._call(self._cuda.cuLaunchKernel, function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, 0)

    def copy(self, destination: int, source: int, size_bytes: int, stream: int) -> None:
        self._call(self._cuda.cuMemcpyAsync, destination, source, size_bytes, stream)

    def hold(self, stream: int, address: int, value: int) -> None:
        flag = self._cuda.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ
        self._call(self._cuda.cuStreamWaitValue32, stream, address, value, int(flag))

    def event(self) -> int:
        return int(self._call(self._cuda.cuEventCreate, int(self._cuda.CUevent_flags.CU_EVENT_DEFAULT)))

    def record(self, event: int, stream: int) -> None:
        self._call(self._cuda.cuEventRecord, event, stream)

    def is_done(self, event: int) -> bool:
        code = self._cuda.cuEventQuery(event)[0]
        if code == self._cuda.CUresult.CUDA_ERROR_NOT_READY:
            return False
        if int(code) != 0:
            raise self._error("cuEventQuery", code)
        return True

    def elapsed_ns(self, first: int, last: int) -> float:
        return 1e6 * float(self._call(self._cuda.cuEventElapsedTime, first, last))
