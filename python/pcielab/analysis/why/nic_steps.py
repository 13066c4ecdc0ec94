"""The cost of each step of a NIC for a packet: its accesses, and its time and bytes on the link.

The model is asked for a NIC that moves the packet alone, and for one that makes this access beside it: the rates
that each direction of the link allows them are the inverses of their times there, DLLPs included.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pcielab import model
from pcielab.analysis.why.answer import Cell
from pcielab.library.nics import NicProfile, Step

_BITS = 8


@dataclass(frozen=True)
class StepCost:
    """The cost of a step for an average packet.

    Attributes:
        step: The step.
        accesses: Accesses for a packet; below 1 if packets share one.
        upstream_ns: Time on the link from the NIC to the host.
        downstream_ns: Time on the link from the host to the NIC.
        gbps: The link's rate for TLPs in each direction.
    """

    step: Step
    accesses: float
    upstream_ns: float
    downstream_ns: float
    gbps: float

    @property
    def group(self) -> str:
        """The kind of cost: packet, descriptors, doorbells, interrupts or register reads."""
        if self.step.kind == "msi":
            return "interrupts"
        if self.step.kind == "mmio-read":
            return "register reads"
        if self.step.bytes == "packet":
            return "packet"
        return "doorbells" if self.step.kind == "mmio-write" else "descriptors"

    def to_dict(self) -> dict[str, Cell]:
        """A row of the table."""
        return {
            "path": self.step.path,
            "step": self.step.what,
            "cost": self.group,
            "accesses_per_packet": self.accesses,
            "upstream_bytes": self.upstream_ns * self.gbps / _BITS,
            "downstream_bytes": self.downstream_ns * self.gbps / _BITS,
            "upstream_ns": self.upstream_ns,
            "downstream_ns": self.downstream_ns,
        }


def step_costs(
    nic: NicProfile, link: model.Link, frame_bytes: int, direction: str, packets_per_s: float
) -> list[StepCost]:
    """The cost of every step of a direction (`both`, `tx`, `rx`), at a packet rate that moderates interrupts.

    The NIC has no switches; see `NicProfile.for_frames`.
    """
    [row] = model.bandwidth(link, [frame_bytes])
    found = []
    for path in ("tx", "rx") if direction == "both" else (direction,):
        steps = [step for step in nic.step if step.path == path]
        packet = [step for step in steps if step.bytes == "packet"]
        alone = _link_ns(nic, packet, link, frame_bytes)
        for step in steps:
            if step in packet:
                found.append(StepCost(step, 1.0, *alone, row.tlp_gbps))
                continue
            both = _link_ns(nic, [*packet, _each_packet(step)], link, frame_bytes)
            accesses = _accesses(step, packets_per_s)
            upstream_ns, downstream_ns = (
                accesses * (after - before) for after, before in zip(both, alone, strict=True)
            )
            found.append(StepCost(step, accesses, upstream_ns, downstream_ns, row.tlp_gbps))
    return found


def _link_ns(nic: NicProfile, steps: Sequence[Step], link: model.Link, frame_bytes: int) -> tuple[float, float]:
    """Time of a packet on the link, upstream and downstream, with only some steps."""
    [row] = model.nic(nic.with_steps(steps), link, [frame_bytes])
    bits = row.bi.gbps / row.bi.millions_per_s * 1e3
    ns_of = {ceiling.bound: bits / ceiling.gbps for ceiling in row.bi.ceilings}
    return ns_of.get("wire-upstream", 0.0), ns_of.get("wire-downstream", 0.0)


def _each_packet(step: Step) -> Step:
    """The step once for each packet; a batch stays one access of all its bytes."""
    size = step.bytes if isinstance(step.bytes, str) else step.bytes * step.batch
    return step.unchecked(bytes=size, batch=1, every_packets=None, moderation_ns=None)


def _accesses(step: Step, packets_per_s: float) -> float:
    """Accesses for a packet, where packets come at regular times."""
    if step.moderation_ns is None:
        return 1.0 / max(step.every_packets or 1, step.batch)
    by_count = 1.0 / step.every_packets if step.every_packets else 0.0
    return min(1.0, max(1e9 / (step.moderation_ns * packets_per_s), by_count))
