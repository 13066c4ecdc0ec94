"""What is known of a NIC's line: its rate, ports and protocol, and where the data lie."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pcielab.errors import out_of_range, refusal
from pcielab.kinds.question import Memory, Question, read_memory
from pcielab.library.protocols import Protocol, read_protocol

_MOST_PORTS = 16


@dataclass(frozen=True, kw_only=True)
class Line:
    """What an asker, or a tool's own output, says of a line; None is unknown.

    Attributes:
        line_gbps: Rate of a port, Gb/s.
        ports: Ports that carry the value together.
        protocol: Its protocol.
        mtu_bytes: Its MTU.
        memory: Where the data lie.
    """

    line_gbps: float | None = None
    ports: int | None = None
    protocol: Protocol | None = None
    mtu_bytes: int | None = None
    memory: Memory | None = None

    def beside(self, own: "Line") -> "Line":
        """What is known here, and where nothing is, what a tool's output says itself."""
        protocol = self.protocol or own.protocol
        return Line(
            line_gbps=self.line_gbps if self.line_gbps is not None else own.line_gbps,
            ports=self.ports or own.ports,
            protocol=protocol,
            mtu_bytes=self.mtu_bytes or own.mtu_bytes,
            memory=self.memory or own.memory,
        )

    def payload_gbps(self, message_bytes: int | None) -> float | None:
        """Payload of one direction of all ports, Gb/s, in messages of a size; None without a rate."""
        if self.line_gbps is None:
            return None
        raw = (self.ports or 1) * self.line_gbps
        protocol = self.protocol
        if protocol is None:
            return raw
        return raw * protocol.share(self.mtu_bytes, message_bytes if protocol.is_rdma else None)

    @property
    def words(self) -> str:
        """`a line of 100 Gb/s with RoCE v2, MTU 1024 B`."""
        lines = f"{self.ports} lines" if (self.ports or 1) > 1 else "a line"
        how = f" with {self.protocol.words(self.mtu_bytes)}" if self.protocol is not None else ""
        return f"{lines} of {self.line_gbps:g} Gb/s{how}"

    def of(self, question: Question) -> Question:
        """A question of a store with what is known here; what it says itself stays where nothing is known."""
        return replace(
            question,
            line_gbps=self.line_gbps if self.line_gbps is not None else question.line_gbps,
            ports=self.ports or question.ports,
            protocol=self.protocol or question.protocol,
            mtu_bytes=self.mtu_bytes or question.mtu_bytes,
            memory=self.memory or question.memory,
        )


def read_line(
    line_gbps: float | None = None,
    ports: int | None = None,
    protocol: str | None = None,
    mtu_bytes: int | None = None,
    memory: str | None = None,
) -> Line:
    """The line of options.

    Raises:
        InputError: A word or number is wrong, or an MTU has no protocol.
    """
    found = None if protocol is None else read_protocol(protocol)
    if ports is not None and not 1 <= ports <= _MOST_PORTS:
        raise out_of_range("--ports", ports, f"1 to {_MOST_PORTS} ports")
    if mtu_bytes is not None:
        if found is None:
            raise refusal("missing", f"--mtu {mtu_bytes}: of a protocol: give --protocol as well")
        found.check_mtu(mtu_bytes, "--mtu")
    return Line(
        line_gbps=line_gbps,
        ports=ports,
        protocol=found,
        mtu_bytes=mtu_bytes,
        memory=None if memory is None else read_memory(memory),
    )


def line_of_parameters(parameters: Mapping[str, Any]) -> Line:
    """What a tool's own output says of the line: perftest prints link layer, MTU, ports and memory.

    RoCE of an Ethernet line is version 2: it has the shorter headers, so that a bound stays one.

    Args:
        parameters: Of a test in a store; keys that are not there are unknown.
    """
    protocol = {"ethernet": "roce", "infiniband": "infiniband"}.get(str(parameters.get("link_layer")))
    memory = parameters.get("memory")
    return Line(
        ports=2 if parameters.get("part") == "both ports" else None,
        protocol=None if protocol is None else read_protocol(protocol),
        mtu_bytes=parameters.get("mtu_bytes"),
        memory=None if memory is None else read_memory(str(memory)),
    )
