"""The benches of the core: module under test, and the sizes that ``make rtl-test`` runs.

The cocotb tests of bench ``NAME`` are in ``test_NAME.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True)
class Bench:
    """A bench: the module at the top, and its parameters in each size; mutants run the first size."""

    top: str
    sizes: tuple[Mapping[str, int], ...] = ({},)
    fast: int = 0
    """Number of sizes, from the first one on, that ``make test`` runs too."""


def sizes(**values: tuple[int, ...]) -> tuple[Mapping[str, int], ...]:
    """All combinations of values of parameters."""
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


WIDTHS = (256, 512)
CORE = tuple({"DATA_WIDTH": width, "TAGS": tags} for width, tags in ((256, 64), (512, 64), (256, 256), (512, 32)))
WITHOUT_COMMANDS = {**CORE[0], "COMMANDS": 0}
# Without straddling, the hard block fills up: the link brings completions faster than they leave.
UNSTRADDLED = {"DATA_WIDTH": 512, "TAGS": 256, "RC_STRADDLE": 0}
# The buffer of the hard block holds a completion for each tag.
WIDE_TAGS = {"DATA_WIDTH": 256, "TAGS": 512, "COMPLETION_HEADERS": 1024, "COMPLETION_DATA_BYTES": 65536}
BENCHES = {
    "address_generator": Bench("address_generator"),
    "axi_commands": Bench("pcielab_core", ({**CORE[0], "MEMORY_AXI": 1},)),
    "bandwidth_counters": Bench("bandwidth_counters"),
    "commands": Bench("pcielab_core", CORE, fast=1),
    "completion_budget": Bench("completion_budget", ({"COMPLETION_HEADERS": 64, "COMPLETION_DATA_BYTES": 4096},)),
    "completion_space": Bench(
        "pcielab_usp",
        (UNSTRADDLED, *sizes(DATA_WIDTH=WIDTHS, TAGS=(64, 256))),
        fast=1,
    ),
    "completion_tracker": Bench("flat_completion_tracker", ({"DATA_WIDTH": 256, "TAGS": 32},)),
    "core": Bench("pcielab_core", (*CORE, WITHOUT_COMMANDS), fast=1),
    "data_checker": Bench("data_checker", sizes(DATA_WIDTH=WIDTHS)),
    "draw_below": Bench("draw_below"),
    "fault_counters": Bench("fault_counters"),
    "headers": Bench("header_pair", sizes(DATA_WIDTH=WIDTHS, HEADER_DWORDS=(3, 4))),
    "id_pool": Bench("id_pool", ({"COUNT": 8},)),
    "interrupter": Bench("interrupter"),
    "latency_recorder": Bench("latency_recorder", ({"RECORDS": 4096},)),
    "message_receiver": Bench("flat_message_receiver", sizes(DATA_WIDTH=WIDTHS, QUEUES=(4,), SLOTS=(64,))),
    "registers": Bench("pcielab_core", CORE[:1], fast=1),
    "request_arbiter": Bench("flat_request_arbiter", ({"DATA_WIDTH": 256, "SOURCES": 3},)),
    "request_engine": Bench(
        "flat_request_engine", ({"DATA_WIDTH": 256, "TAGS": 512}, {"DATA_WIDTH": 512, "TAGS": 64})
    ),
    "splitter": Bench("splitter"),
    "stream_fifo": Bench("stream_fifo", ({"WIDTH": 8, "DEPTH": 4},)),
    "stream_register": Bench("stream_register", ({"WIDTH": 8},)),
    "tag_limit": Bench("tag_limit", ({"TAGS": 512},)),
    "unstraddle": Bench("unstraddle", sizes(DATA_WIDTH=WIDTHS)),
    "ten_bit_tags": Bench("pcielab_core", (WIDE_TAGS,)),
    "usp_credits": Bench("usp_credits"),
    "usp": Bench("pcielab_usp", (*sizes(DATA_WIDTH=WIDTHS, TAGS=(64,)), UNSTRADDLED)),
}
