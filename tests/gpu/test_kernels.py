"""The kernels compile for every architecture, and their machine code accesses host memory as in the source."""

from dataclasses import replace
from itertools import product

import pytest

from pcielab.devices import UnavailableError
from pcielab.devices.cuda.backend import CudaBackend
from pcielab.devices.cuda.compiler import (
    ATOMIC_BYTES,
    BULK_FROM,
    LANES,
    SOURCES,
    TRANSFER_BYTES_MOST,
    CompileError,
    ReadForm,
    compiled,
    kernels_of,
    latency_kernel,
    loads_of,
)
from pcielab.devices.cuda.driver import NoDriverError
from pcielab.devices.cuda.options import CudaHostOptions, CudaOptions

from .machine_code import Instruction, clock_distances, instructions, kernels, ptx_instructions
from .stand_in import CARD, StandIn

ARCHITECTURES = (80, 86, 89, 90, 100, 120)
OTHERS = (75, 87, 88, 103, 110, 121)
FORMS: tuple[ReadForm, ...] = ("load", "mmio", "volatile", "cv", "bulk")
IN_PTX = {
    "load": "ld.relaxed.sys.global",
    "mmio": "ld.mmio.relaxed.sys.global",
    "volatile": "ld.volatile.global",
    "cv": "ld.global.cv",
    "bulk": "cp.async.bulk.shared::cluster.global",
}
VECTORS = {4: ".u32", 8: ".v2.u32", 16: ".v4.u32"}
KINDS = ("read", "write_read")
FOR_EACH_LOAD, FOR_THE_WAIT = 9, 3
"""Most instructions between two readings of the clock: address, condition, load and sum of each, and the wait."""
CLOCK = Instruction("clock")

try:
    compiled("watch.cu", 90, "load")
except NoDriverError as missing:
    pytestmark = pytest.mark.skip(reason=f"the CUDA kernels are not compiled: {missing}")


def pieces(form: ReadForm) -> list[int]:
    return [4, 8] if form == "mmio" else [4, 8, 16]


def has(architecture: int, form: ReadForm) -> bool:
    return form != "bulk" or architecture >= BULK_FROM


def check(architecture: int, form: ReadForm) -> None:
    """Compile all kernels, and check the machine code of those that are timed."""
    names = {source.name: kernels(compiled(source.name, architecture, form)) for source in SOURCES.glob("*.cu")}
    assert set(names["bandwidth.cu"]) == {f"bandwidth_{piece}" for piece in pieces(form)}
    assert {"fill", "scatter", "compare"} == set(names["memory.cu"])
    assert {"clocks", "watch"} == set(names["watch.cu"])
    # These are launched once when a GPU is opened.
    assert {source: set(found) for source, found in kernels_of(form).items()} == {
        source: set(found) for source, found in names.items()
    }
    for piece in ATOMIC_BYTES:
        kernel = f"latency_atomic_{piece}_1"
        assert (
            clock_distances(compiled("latency.cu", architecture, form), kernel)[1] <= FOR_EACH_LOAD + FOR_THE_WAIT
        )
        ptx = compiled("latency.cu", architecture, form, "PTX")
        assert ptx_instructions(ptx, kernel, f"atom.relaxed.sys.global.add.u{8 * piece}") == 1
    for piece in pieces(form):
        for kind, loads in product(KINDS, loads_of(form, piece)):
            kernel = f"latency_{kind}_{piece}_{loads}"
            check_latency(compiled("latency.cu", architecture, form), kernel, piece, loads, form)
            check_ptx(compiled("latency.cu", architecture, form, "PTX"), kernel, piece, loads, form)
        most = loads_of(form, piece)[-1]
        check_bandwidth(compiled("bandwidth.cu", architecture, form), f"bandwidth_{piece}", piece, most, form)
        check_ptx(compiled("bandwidth.cu", architecture, form, "PTX"), f"bandwidth_{piece}", piece, most, form)


def loads_of_link(form: ReadForm, piece: int, loads: int) -> list[Instruction]:
    """The loads of a transfer: none is merged, and none left out. A bulk copy has none."""
    return [Instruction("load", piece, ordered=True)] * (0 if form == "bulk" else loads)


STOP_FLAG = Instruction("load", 4, ordered=True)
LIST = Instruction("load", 4, ordered=False)
AWAITED = Instruction("store", 4, ordered=True)
"""A store that is never executed makes the kernel wait for a loaded value."""


def check_latency(cubin: bytes, kernel: str, piece: int, loads: int, form: ReadForm) -> None:
    """Check that the whole transfer, and little else, lies between the two readings of the clock."""
    found = instructions(cubin, kernel)
    clocks = [at for at, one in enumerate(found) if one == CLOCK]
    assert len(clocks) == 4, found
    _, begin, end, _ = clocks
    assert found[clocks[0] + 1 : begin] == [STOP_FLAG, LIST, AWAITED]
    writes = [Instruction("store", piece, ordered=True)] if "write" in kernel else []
    # A loop that checks the stop flag waits for a bulk copy.
    polls = [STOP_FLAG] if form == "bulk" else []
    assert found[begin + 1 : end] == [*writes, *loads_of_link(form, piece, loads), *polls, AWAITED]
    if form != "bulk" and not writes:
        assert clock_distances(cubin, kernel)[1] <= FOR_EACH_LOAD * loads + FOR_THE_WAIT, kernel


def check_bandwidth(cubin: bytes, kernel: str, piece: int, loads: int, form: ReadForm) -> None:
    """Check that the loads of a transfer come after the load of its address: none is moved out of the loop."""
    found = instructions(cubin, kernel)
    assert found.count(LIST) == 1
    after = [one for one in found[found.index(LIST) :] if one.name == "load"]
    polls = [STOP_FLAG] if form == "bulk" else []
    assert after == [LIST, *loads_of_link(form, piece, loads), *polls]
    assert found[: found.index(LIST)].count(STOP_FLAG) == 1
    assert Instruction("store", piece, ordered=True) in found


def check_ptx(ptx: bytes, kernel: str, piece: int, loads: int, form: ReadForm) -> None:
    if form == "bulk":
        wanted, count = f"{IN_PTX[form]}.mbarrier::complete_tx::bytes", 1
    else:
        kind = ".u64" if (form, piece) == ("mmio", 8) else VECTORS[piece]
        wanted, count = IN_PTX[form] + kind, len(loads_of_link(form, piece, loads))
    extra = 1 if (form, piece) == ("volatile", 4) else 0
    assert ptx_instructions(ptx, kernel, wanted) == count + extra


@pytest.mark.parametrize("form", FORMS)
def test_a_transfer_takes_the_kernel_with_the_fewest_loads_that_suffice(form: ReadForm) -> None:
    for piece in pieces(form):
        numbers = loads_of(form, piece)
        for bytes_moved in range(piece, TRANSFER_BYTES_MOST + 1, piece):
            kernel = latency_kernel(form, piece, bytes_moved // piece, writes_first=False)
            loads = int(kernel.removeprefix(f"latency_read_{piece}_"))
            assert loads in numbers
            assert form == "bulk" or loads * LANES * piece >= bytes_moved
            assert loads == 1 or loads // 2 * LANES * piece < bytes_moved


@pytest.mark.parametrize("architecture", [ARCHITECTURES[0], ARCHITECTURES[-1]])
def test_reads_compile_to_the_intended_loads(architecture: int) -> None:
    check(architecture, "load")


@pytest.mark.parametrize("form", FORMS[1:])
def test_other_forms_of_reads_compile_to_the_intended_loads(form: ReadForm) -> None:
    check(90, form)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES + OTHERS)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_on_every_architecture(architecture: int, form: ReadForm) -> None:
    if has(architecture, form):
        check(architecture, form)


def test_a_compile_error_has_the_compilers_message() -> None:
    with pytest.raises(CompileError, match=r"latency\.cu for sm_80: .*error"):
        compiled("latency.cu", 80, "bulk")
    with pytest.raises(CompileError, match=r"watch\.cu for sm_999: .*invalid value"):
        compiled("watch.cu", 999, "load")
    driver = StandIn(cards=[replace(CARD, architecture=999)])
    backend = CudaBackend(CudaOptions(host=CudaHostOptions(buffer_bytes=1 << 20)), 0, lambda: driver)
    with pytest.raises(UnavailableError, match=r"a kernel does not compile: \w+\.cu for sm_999: .*invalid value"):
        backend.open()
    assert driver.open_contexts == 0
