"""The first launch of every kernel, before anything is measured.

CUDA loads a kernel's code at its first launch (`CUDA_MODULE_LOADING=LAZY`, the default). That takes milliseconds,
between the event before the launch and the start of the kernel. Loading may also wait for everything else on the
GPU, and then never ends while a stream waits for the host.
"""

from pcielab.devices.cuda.opened import OpenCard


def launch_each_kernel(card: OpenCard, buffer: int) -> None:
    """Launch every kernel once, with no transfers, and wait for all of them.

    Args:
        card: The GPU.
        buffer: Its address of the host's buffer.
    """
    word, report, stop = card.shared_word[1], card.report, card.stop_flag
    # Kernels without transfers write their report, and touch nothing else of the memory that they are given.
    unused, none = card.report, 0
    arguments = {
        "latency": (buffer, unused, none, 1, 0, 0, unused, report, stop),
        "bandwidth": (buffer, unused, none, 1, 0, 0, 0, report, stop),
        "fill": (buffer, 0, none, 0, stop),
        "scatter": (buffer, 1, 0, none, stop),
        "compare": (buffer, unused, none, 1, 0, 0, report, stop),
        "clocks": (none, unused, stop),
        # `watch` reads for no time at all.
        "watch": (word, 0, none, report, stop),
    }
    for kernel in card.functions:
        card.start(kernel, 1, 32, *arguments[kernel.partition("_")[0]])
    card.wait_for_stream("the first launch of every kernel")
