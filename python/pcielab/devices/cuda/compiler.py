"""Compile kernels for one architecture with NVRTC, without driver or GPU."""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pcielab.devices.cuda.bindings import INSTALL
from pcielab.devices.cuda.driver import NoDriverError

SOURCES = Path(__file__).with_name("kernels")
ReadForm: TypeAlias = Literal["load", "mmio", "volatile", "cv", "bulk"]
"""The instruction that reads host memory: `ld.relaxed.sys`, `ld.mmio.relaxed.sys`, `ld.volatile`, `ld.cv`, or
`cp.async.bulk` into shared memory."""
BULK_FROM = 90
"""The first architecture with bulk copies."""
PIECE_BYTES: dict[ReadForm, tuple[int, ...]] = {
    "load": (4, 8, 16),
    "mmio": (4, 8),
    "volatile": (4, 8, 16),
    "cv": (4, 8, 16),
    "bulk": (4, 8, 16),
}
"""Bytes that one lane can move with one instruction: `kernels/` has a kernel for each."""
ATOMIC_BYTES = (4, 8)
"""Sizes of an atomic access."""
LANES = 32
"""Lanes of a warp, which moves a transfer."""
TRANSFER_BYTES_MOST = 4096
"""The longest transfer of a warp."""


class CompileError(Exception):
    """A kernel does not compile; the text is NVRTC's own."""


def loads_of(read: ReadForm, piece: int) -> tuple[int, ...]:
    """The numbers of loads of a lane, each with a latency kernel of its own, for pieces of this many bytes.

    A bulk copy is one instruction, whatever its size.
    """
    most = 1 if read == "bulk" else TRANSFER_BYTES_MOST // (LANES * piece)
    return tuple(1 << power for power in range(most.bit_length()))


def latency_kernel(read: ReadForm, piece: int, pieces: int, *, writes_first: bool) -> str:
    """The latency kernel with the fewest loads that move a transfer of `pieces` pieces of `piece` bytes."""
    kind = "write_read" if writes_first else "read"
    numbers = loads_of(read, piece)
    loads = next((loads for loads in numbers if loads * LANES >= pieces), numbers[-1])
    return f"latency_{kind}_{piece}_{loads}"


def kernels_of(read: ReadForm) -> dict[str, tuple[str, ...]]:
    """The kernels of each file, where `read` is the instruction that reads host memory."""
    pieces = PIECE_BYTES[read]
    return {
        "bandwidth.cu": tuple(f"bandwidth_{piece}" for piece in pieces),
        "latency.cu": tuple(
            f"latency_{kind}_{piece}_{loads}"
            for kind in ("read", "write_read")
            for piece in pieces
            for loads in loads_of(read, piece)
        )
        + tuple(f"latency_atomic_{piece}_1" for piece in ATOMIC_BYTES),
        "memory.cu": ("fill", "scatter", "compare"),
        "watch.cu": ("clocks", "watch"),
    }


@cache
def compiled(source: str, architecture: int, read: ReadForm, kind: Literal["CUBIN", "PTX"] = "CUBIN") -> bytes:
    """Compile one file of kernels.

    Args:
        source: Its name, for example `latency.cu`.
        architecture: Compute capability without the dot.
        read: The instruction that reads host memory.
        kind: Machine code, or PTX assembly.

    Raises:
        CompileError: It does not compile, or NVRTC does not support the architecture.
        NoDriverError: NVRTC is not installed.
    """
    nvrtc = _nvrtc()
    headers = sorted(SOURCES.glob("*.cuh"))
    program = _checked(
        nvrtc.nvrtcCreateProgram(
            (SOURCES / source).read_bytes(),
            source.encode(),
            len(headers),
            [header.read_bytes() for header in headers],
            [header.name.encode() for header in headers],
        )
    )
    form = get_args(ReadForm).index(read)
    options = [f"--gpu-architecture=sm_{architecture}", f"-DREAD_FORM={form}", "--std=c++17"]
    try:
        code = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])[0]
        if int(code) != 0:
            log = _text(nvrtc, program, "ProgramLog").rstrip(b"\0 \n").decode()
            raise CompileError(f"{source} for sm_{architecture}: {log or code}")
        return _text(nvrtc, program, kind)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


@cache
def _nvrtc() -> Any:
    try:
        nvrtc = import_module("cuda.bindings.nvrtc")
        nvrtc.nvrtcVersion()
    except Exception as error:
        # A missing library raises an exception class that is internal to cuda-bindings.
        raise NoDriverError(f"CUDA's compiler NVRTC is not installed: {INSTALL}") from error
    return nvrtc


def _checked(result: Any) -> Any:
    code, *values = result
    if int(code) != 0:
        raise CompileError(f"NVRTC: {code}")
    return values[0] if values else None


def _text(nvrtc: Any, program: Any, name: str) -> bytes:
    size = int(_checked(getattr(nvrtc, f"nvrtcGet{name}Size")(program)))
    # NVRTC writes into this object.
    text = b" " * size
    _checked(getattr(nvrtc, f"nvrtcGet{name}")(program, text))
    return text
