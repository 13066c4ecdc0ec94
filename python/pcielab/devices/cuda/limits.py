"""Limits of a GPU, and the refusals of tests beyond them."""

from pcielab.devices.cuda.compiler import PIECE_BYTES, TRANSFER_BYTES_MOST, ReadForm
from pcielab.devices.cuda.pattern import WORD_BYTES
from pcielab.library.suites.benchmark import Parameters

WINDOW_BYTES_MOST = WORD_BYTES << 32
DMA_BYTES_LEAST, DMA_BYTES_MOST = 4096, 64 << 20
WARPS_OF_PROCESSOR = 16
"""Warps that a processor runs at once on every architecture from sm_75 on, one for each block."""


def piece_bytes(test: Parameters, read: ReadForm) -> int:
    """Bytes that one lane moves with one instruction: the alignment of size and offset, up to a limit."""
    aligned = test.size_bytes | test.host_offset_bytes
    return min(aligned & -aligned, PIECE_BYTES[read][-1])


def refusal(test: Parameters, read: ReadForm, buffer_bytes: int, warps_most: int) -> str | None:
    """Why a test is not supported; None if it is."""
    if test.window_bytes > buffer_bytes:
        return f"window_bytes is {test.window_bytes}: the buffer has {buffer_bytes} bytes (host.buffer_bytes)"
    if test.window_bytes > WINDOW_BYTES_MOST:
        return f"window_bytes is {test.window_bytes}: {WINDOW_BYTES_MOST} at most: words are counted in 32 bits"
    return _of_dma(test) if test.path == "dma" else _of_command(test, read, warps_most)


def _of_dma(test: Parameters) -> str | None:
    if test.operation.startswith("lat-"):
        return (
            f"{test.operation} on path dma: a copy engine has no time stamp of its own, so that single copies "
            "cannot be timed: give path command"
        )
    if not DMA_BYTES_LEAST <= test.size_bytes <= DMA_BYTES_MOST:
        return f"size_bytes is {test.size_bytes}: path dma copies {DMA_BYTES_LEAST} to {DMA_BYTES_MOST} bytes"
    if test.outstanding is not None:
        return f"outstanding is {test.outstanding}: an engine has its own queue: leave it out on path dma"
    return None


def _of_command(test: Parameters, read: ReadForm, warps_most: int) -> str | None:
    if test.size_bytes > TRANSFER_BYTES_MOST:
        return f"size_bytes is {test.size_bytes}: a warp moves {TRANSFER_BYTES_MOST} bytes at most: give path dma"
    if test.device_offset_bytes:
        return (
            f"device_offset_bytes is {test.device_offset_bytes}: path command moves to and from registers, which "
            "have no offset: give 0"
        )
    if piece_bytes(test, read) < WORD_BYTES:
        return (
            f"size_bytes is {test.size_bytes}, host_offset_bytes is {test.host_offset_bytes}: processors move "
            f"aligned words of {WORD_BYTES} bytes: give multiples of it"
        )
    if read == "bulk" and piece_bytes(test, read) < 16:
        return (
            f"size_bytes is {test.size_bytes}, host_offset_bytes is {test.host_offset_bytes}: device.read=bulk "
            "moves 16 bytes and multiples of it: give those, or device.read=load"
        )
    if test.outstanding is not None and test.outstanding > warps_most:
        return f"outstanding is {test.outstanding}: at most {warps_most} warps run at the same time"
    return None
