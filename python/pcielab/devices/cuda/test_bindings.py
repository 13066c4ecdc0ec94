"""A missing or old driver gives an error with the remedy; errors of calls keep their names."""

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest

from pcielab.devices.cuda import bindings
from pcielab.devices.cuda.driver import DriverError, NoDriverError


def module(version: int, start: int = 0) -> Any:
    """A stand-in for `cuda.bindings.driver` with the first calls."""

    def cuInit(_flags: int) -> tuple[int]:  # noqa: N802
        return (start,)

    return SimpleNamespace(
        cuInit=cuInit,
        cuDriverGetVersion=lambda: (0, version),
        cuGetErrorName=lambda _code: (0, b"CUDA_ERROR_NO_DEVICE"),
        cuGetErrorString=lambda _code: (0, b"no CUDA-capable device is detected"),
    )


def found(monkeypatch: pytest.MonkeyPatch, package: str, cuda: Any) -> Any:
    monkeypatch.setattr(bindings, "version", lambda _name: package)
    monkeypatch.setattr(bindings, "import_module", lambda _name: cuda)
    return bindings.load_driver()


def test_old_driver_is_refused_with_both_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoDriverError, match=r"supports CUDA 12\.4.*cuda-bindings 13\.5\.0.*pcielab\[cuda12\]"):
        found(monkeypatch, "13.5.0", module(12040))
    assert found(monkeypatch, "12.9.10", module(12040)).version() == (12, 4)
    assert found(monkeypatch, "12.9.10", module(13000)).version() == (13, 0)


def test_failing_start_keeps_the_words_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoDriverError, match=r"CUDA driver does not start: cuInit: no CUDA-capable device"):
        found(monkeypatch, "13.5.0", module(13000, start=100))


def test_failing_call_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = module(13000)
    driver = found(monkeypatch, "13.5.0", cuda)

    def cuMemAlloc(_size: int) -> tuple[int, int]:  # noqa: N802
        return 100, 0

    cuda.cuMemAlloc = cuMemAlloc
    with pytest.raises(DriverError, match="cuMemAlloc: no CUDA-capable device is detected") as caught:
        driver.allocate(5)
    assert caught.value.code == "CUDA_ERROR_NO_DEVICE"


def test_function_is_found_once_and_launched_by_its_handle(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, calls = module(13000), []

    def cuModuleGetFunction(module: int, name: bytes) -> tuple[int, int]:  # noqa: N802
        calls.append((module, name))
        return 0, 77

    def cuLaunchKernel(*arguments: Any) -> tuple[int]:  # noqa: N802
        calls.append(arguments)
        return (0,)

    cuda.cuModuleGetFunction, cuda.cuLaunchKernel = cuModuleGetFunction, cuLaunchKernel
    driver = found(monkeypatch, "13.5.0", cuda)
    function = driver.function(5, "fill")
    driver.launch(function, 4, 256, [1, 2], 9)
    driver.launch(function, 4, 256, [1, 2], 9)
    launch = (77, 4, 1, 1, 256, 1, 1, 0, 9, ((1, 2), (ctypes.c_uint64,) * 2), 0)
    assert calls == [(5, b"fill"), launch, launch]


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_name: str) -> Any:
        raise ImportError

    monkeypatch.setattr(bindings, "version", lambda _name: "13.5.0")
    monkeypatch.setattr(bindings, "import_module", missing)
    with pytest.raises(NoDriverError, match=r"cuda-bindings is not installed: pip install 'pcielab\[cuda13\]'"):
        bindings.load_driver()
