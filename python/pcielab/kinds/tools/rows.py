"""The rows that other tools measured, as plain facts of a store.

An importer writes one test for each number that a tool prints, or for each group of numbers of one measurement.
`measured_rows` reads them back, one row for each number. A fact that the tool's file does not give is None.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from pcielab.store.frames import Frames

Tool: TypeAlias = Literal[
    "nvbandwidth",
    "perftest",
    "fio",
    "bandwidthTest",
    "p2pBandwidthLatencyTest",
    "rocm-bandwidth-test",
    "nccl-tests",
    "mlc",
]
"""The tools that are read, by the names of their programs."""
Direction: TypeAlias = Literal["h2d", "d2h", "p2p", "local", "read", "write", "send", "atomic", "trim"]
"""Where data go: to or from the host's memory, between devices, within one; or the tool's own operation."""
Beside: TypeAlias = Literal["opposite", "others", "others-opposite", "mixed"]
"""Traffic that the tool runs at the same time: the opposite direction, other devices, both, other operations."""
Counted: TypeAlias = Literal["one", "both", "total"]
"""Directions or devices that a value counts: one, both directions, or all devices together."""
Engine: TypeAlias = Literal["copy", "kernel"]
"""What moves the data, where the tool names it: a copy engine, or the processors of a GPU."""
LinkLayer: TypeAlias = Literal["ethernet", "infiniband"]
"""Link layer of an RDMA port."""
State: TypeAlias = Literal["pageable", "through-host"]
"""A condition that the tool names, by its word in `pcielab normal --state`."""
Quantity: TypeAlias = Literal["bandwidth", "latency", "iops"]
What: TypeAlias = Literal["h2d", "d2h", "both-ways", "p2p", "read", "write", "latency", "iops"]
"""The question that a value answers, as `pcielab normal` asks it."""

Moved: TypeAlias = Literal["read", "write"]
"""What a device does to the memory of its host."""
COPIERS = ("nvbandwidth", "bandwidthTest", "p2pBandwidthLatencyTest", "rocm-bandwidth-test")
"""Tools that copy between the memories of hosts and GPUs."""
MOVED: Mapping[tuple[str, str | None], Moved] = {
    **{(tool, "h2d"): "read" for tool in COPIERS},
    **{(tool, "d2h"): "write" for tool in COPIERS},
    ("perftest", "write"): "read",
    ("perftest", "send"): "read",
    ("perftest", "read"): "write",
    ("fio", "write"): "read",
    ("fio", "read"): "write",
}
"""What the device does to the host's memory, by tool and direction of its rows."""
_QUESTIONS: Mapping[str, What] = {"h2d": "h2d", "d2h": "d2h", "p2p": "p2p", "read": "read", "write": "write"}
_PCIE_PATHS = ("PIX", "PXB", "PHB", "NODE", "SYS", "SOC")
"""Words of `nvidia-smi topo -m` for a path over PCIe."""
_QUANTITIES: Mapping[str, tuple[Quantity, str]] = {
    "bandwidth": ("bandwidth", "average"),
    "bandwidth_peak": ("bandwidth", "peak"),
    "rate": ("iops", "average"),
    "average": ("latency", "average"),
    "median": ("latency", "median"),
    "minimum": ("latency", "minimum"),
    "maximum": ("latency", "maximum"),
    "p95": ("latency", "p95"),
    "p99": ("latency", "p99"),
    "p999": ("latency", "p999"),
}
"""Quantity and statistic of each metric."""


@dataclass(frozen=True, kw_only=True)
class MeasuredSetting:
    """What a tool measured, from its file alone; the parameters of a test in a store.

    Attributes:
        tool: The tool.
        direction: Where data go.
        beside: Traffic at the same time; None for none.
        counted: What a bandwidth counts.
        engine: What moves the data; None if the tool does not name it.
        pair: The ends as the tool labels them, `CPU 0 -> GPU 1`; `sum` for the sum of a table.
        part: The table of a test with several: `Read1`, `Total`; a port of perftest; `bus` or `algorithm` of
            nccl-tests; the traffic of mlc.
        size_bytes: Size of a transfer, message or block.
        outstanding: Most requests in flight in a queue.
        queues: Queue pairs (perftest), or jobs that a row adds up (fio). Several jobs share a row where fio
            groups them.
        pattern: `sequential` or `random`.
        transport: `RC`, `UC`, `UD`... of perftest.
        io_engine: `libaio`, `io_uring`... of fio.
        access: `direct`, or `buffered` if the page cache of the host may answer; of fio.
        clock: What a latency of fio includes: `clat` from submission to completion, `lat` also the submission.
        state: A condition that the tool names: memory that is not pinned, or copies between devices through the
            host's memory.
        path: What connects two GPUs, in the words of `nvidia-smi topo -m`: `NV4`, `PIX`, `SYS`.
        device: Name of the device, where the text gives it.
        link_layer: Link layer of an RDMA port, of perftest.
        mtu_bytes: Payload of an RDMA packet at most, of perftest.
        memory: `gpu` if the tool says that its buffers lie in a GPU.
    """

    tool: Tool
    direction: Direction | None = None
    beside: Beside | None = None
    counted: Counted = "one"
    engine: Engine | None = None
    pair: str | None = None
    part: str | None = None
    size_bytes: int | None = None
    outstanding: int | None = None
    queues: int | None = None
    pattern: Literal["sequential", "random"] | None = None
    transport: str | None = None
    io_engine: str | None = None
    access: Literal["direct", "buffered"] | None = None
    clock: Literal["clat", "lat"] | None = None
    state: State | None = None
    path: str | None = None
    device: str | None = None
    link_layer: LinkLayer | None = None
    mtu_bytes: int | None = None
    memory: Literal["gpu"] | None = None

    @property
    def over_pcie(self) -> bool:
        """Whether a copy between devices is known to cross PCIe."""
        return self.state == "through-host" or self.path in _PCIE_PATHS

    @property
    def depth(self) -> int | None:
        """Most requests in flight, in all queues."""
        return None if self.outstanding is None or self.queues is None else self.outstanding * self.queues


@dataclass(frozen=True, kw_only=True)
class MeasuredRow(MeasuredSetting):
    """One number of a tool.

    Attributes:
        test: Number of its test in the store.
        name: Name of the test, as the tool has it.
        quantity: Bandwidth, latency or operations a second.
        statistic: `average`, `median`, `peak`, `minimum`, `maximum`, `p95`, `p99` or `p999`.
        value: The number.
        unit: `Gb/s`, `ns` or `1/s`.
    """

    test: int
    name: str
    quantity: Quantity
    statistic: str
    value: float
    unit: str

    @property
    def what(self) -> What | None:
        """The question that the value answers; None if it is none of `normal`, like a sum over devices."""
        if self.pair == "sum" or self.beside in ("others", "others-opposite", "mixed") or self.counted == "total":
            return None
        if self.quantity != "bandwidth":
            return self.quantity
        asked = _QUESTIONS.get(self.direction) if self.direction else None
        if self.beside == "opposite":
            return "both-ways" if asked != "p2p" else None
        return asked


_KEYS = tuple(one.name for one in fields(MeasuredSetting))


def measured_rows(store: Frames) -> list[MeasuredRow]:
    """Every number of an imported run of another tool, in the order of its file.

    Raises:
        InputError: The store is a run of another kind, or damaged.
    """
    store.require_kind("tools", "a list of another tool's numbers")
    return [row for record in store.records() if record["status"] == "ok" for row in _rows(record)]


def _rows(record: Mapping[str, Any]) -> Iterator[MeasuredRow]:
    parameters = record["parameters"]
    known = {key: parameters[key] for key in _KEYS if parameters.get(key) is not None}
    for scalar in record["scalars"]:
        if scalar["subject"] or scalar["metric"] not in _QUANTITIES:
            continue
        quantity, statistic = _QUANTITIES[scalar["metric"]]
        yield MeasuredRow(
            test=record["id"],
            name=record["name"],
            quantity=quantity,
            statistic=statistic,
            value=float(scalar["value"]),
            unit=scalar["unit"],
            **known,
        )
