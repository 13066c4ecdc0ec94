"""The stand-in's parameters, constants and reports are those of the kernels."""

import inspect
import re
from dataclasses import fields

import pytest

from pcielab.devices.cuda import pattern
from pcielab.devices.cuda.compiler import SOURCES
from pcielab.devices.cuda.opened import Report

from .stand_in import _KERNELS

SOURCE = {source.name: source.read_text() for source in [*SOURCES.glob("*.cu"), *SOURCES.glob("*.cuh")]}


def parameters(source: str, kernel: str) -> list[str]:
    """Names of a kernel's parameters; all kernels of a macro have equal ones."""
    name = r"NAME(?:##_##LOADS)?" if kernel.endswith("_") else kernel
    [found] = re.findall(rf"\b{name}\(((?:\s|\\|u64 \w+,?)+)\)\s*{{", SOURCE[source])
    return re.findall(r"u64 (\w+)", found)


@pytest.mark.parametrize("kernel", _KERNELS)
def test_parameters_have_the_same_names_in_the_same_order(kernel: str) -> None:
    source, carried_out = _KERNELS[kernel]
    if kernel == "watch":
        assert parameters(source, kernel) == ["word", "last", "limit_ns", "report", "stop"]
        return
    names = [name.strip("_") for name in inspect.signature(carried_out).parameters]
    assert names[:3] == ["self", "kernel", "blocks"]
    assert parameters(source, kernel) == names[3:]


def test_constants_are_the_same() -> None:
    constants = dict(re.findall(r"#define (WORD_STEP|WORD_FIRST) (\d+)u", SOURCE["link.cuh"]))
    assert constants == {"WORD_STEP": str(pattern.STEP), "WORD_FIRST": str(pattern.FIRST)}
    [report] = re.findall(r"enum Report {(.*?)}", SOURCE["link.cuh"])
    words = [word.strip().lower() for word in report.split(",")]
    assert ["event_ns", *words] == [field.name for field in fields(Report)]


def test_every_loop_over_transfers_checks_the_stop_flag() -> None:
    for name in ("latency.cu", "bandwidth.cu", "memory.cu", "watch.cu"):
        loops = SOURCE[name].count("#pragma unroll 1")
        assert SOURCE[name].count("is_stopped(") == loops > 0, name
