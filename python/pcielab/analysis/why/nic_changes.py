"""Changes of a NIC and of its link that can raise its packet rate.

Changes of a profile are its switches that are off. A profile without switches gets those that drivers and devices
commonly make for small packets: doorbells and descriptors for several packets at once, and polling. Their sizes
are those of the Intel 82599 under DPDK (`profiles/nics/niantic-dpdk.toml`): a doorbell for 32 packets, descriptors
written back 8 at a time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pcielab.library.nics import NicProfile, Step, Switch

_PACKETS_OF_A_DOORBELL = 32
_DESCRIPTORS_AT_A_TIME = 8
_LANES_MOST, _GENERATION_MOST = 16, 5
_BYTES_MOST = 4096


@dataclass(frozen=True)
class Variant:
    """A NIC and its link after a change.

    Attributes:
        what: The change.
        of: `profile`, `together` for all changes of the profile at once, or `link`.
        nic: The NIC.
        link: Values of the link that change, by key.
    """

    what: str
    of: str
    nic: NicProfile
    link: Mapping[str, int] = field(default_factory=dict)


def variants(nic: NicProfile, frame_bytes: int, link: Mapping[str, int]) -> list[Variant]:
    """Each change alone; those of the profile first, then all of the profile together, then those of the link.

    Args:
        nic: The NIC.
        frame_bytes: Size of its frames, on which switches depend.
        link: Its link: generation, lanes, mps_bytes, mrrs_bytes, and tags if they bind.
    """
    own = _switches(nic, frame_bytes) if nic.switch else _of_steps(nic)
    return [*own, *(Variant(what, "link", nic, keys) for what, keys in _of_link(link))]


def worse_links(link: Mapping[str, int]) -> Iterator[tuple[str, dict[str, int]]]:
    """Defects of a link that are common and cost bandwidth: fewer lanes, a lower speed, smaller TLPs."""
    lanes, generation = link["lanes"], link["generation"]
    if lanes > 1 and lanes != 12:
        yield f"the link at x{lanes // 2}", {"lanes": lanes // 2}
    if 1 < generation <= _GENERATION_MOST:
        yield f"the link at Gen{generation - 1}", {"generation": generation - 1}
    for key, name in (("mps_bytes", "MPS"), ("mrrs_bytes", "MRRS")):
        if link[key] > 128:
            yield f"{name} 128", {key: 128}


def _switches(nic: NicProfile, frame_bytes: int) -> list[Variant]:
    """Each switch that is off and acts on the frames, and all of them."""
    off = [name for name, switch in nic.switch.items() if name not in nic.on and _acts_on(switch, frame_bytes)]
    found = [Variant(f"the feature {name}", "profile", nic.with_switches([name])) for name in off]
    if len(off) > 1:
        found.append(Variant(f"{_all(len(off))} features", "together", nic.with_switches(off)))
    return found


def _acts_on(switch: Switch, frame_bytes: int) -> bool:
    return switch.frame_bytes_most is None or frame_bytes <= switch.frame_bytes_most


def _of_steps(nic: NicProfile) -> list[Variant]:
    """Each change of the steps, and all of them."""
    found = list(_each_of_steps(nic))
    if len(found) > 1:
        steps = [_batched(step) for step in nic.step if not _is_polled(step)]
        what = f"{_all(len(found))} changes of the profile"
        found.append(Variant(what, "together", nic.with_steps(steps)))
    return found


def _all(many: int) -> str:
    return "both" if many == 2 else f"all {many}"


def _each_of_steps(nic: NicProfile) -> Iterator[Variant]:
    for what, changed in (
        (f"one doorbell for {_PACKETS_OF_A_DOORBELL} packets", _with_doorbells),
        (f"descriptors read {_DESCRIPTORS_AT_A_TIME} at a time", _with_reads),
        (f"descriptors written {_DESCRIPTORS_AT_A_TIME} at a time", _with_writes),
    ):
        steps = [changed(step) for step in nic.step]
        if steps != nic.step:
            yield Variant(what, "profile", nic.with_steps(steps))
    kept = [step for step in nic.step if not _is_polled(step)]
    if len(kept) < len(nic.step):
        what = "polling instead of interrupts and register reads"
        yield Variant(what, "profile", nic.with_steps(kept))


def _of_link(link: Mapping[str, int]) -> Iterator[tuple[str, dict[str, int]]]:
    lanes, generation = link["lanes"], link["generation"]
    if generation < _GENERATION_MOST:
        yield f"Gen{generation + 1} instead of Gen{generation}", {"generation": generation + 1}
    if lanes * 2 <= _LANES_MOST:
        yield f"x{lanes * 2} instead of x{lanes}", {"lanes": lanes * 2}
    for key, name in (("mps_bytes", "MPS"), ("mrrs_bytes", "MRRS"), ("tags", "tags")):
        if key in link and (key == "tags" or link[key] * 2 <= _BYTES_MOST):
            yield f"{name} {link[key]} -> {link[key] * 2}", {key: link[key] * 2}


def _batched(step: Step) -> Step:
    return _with_writes(_with_reads(_with_doorbells(step)))


def _with_doorbells(step: Step) -> Step:
    if step.kind == "mmio-write" and step.bytes != "packet" and (step.every_packets or 1) < _PACKETS_OF_A_DOORBELL:
        return step.unchecked(every_packets=_PACKETS_OF_A_DOORBELL)
    return step


def _with_reads(step: Step) -> Step:
    return _with_batch(step) if step.kind == "dma-read" else step


def _with_writes(step: Step) -> Step:
    return _with_batch(step) if step.kind == "dma-write" else step


def _with_batch(step: Step) -> Step:
    if step.bytes == "packet" or max(step.every_packets or 1, step.batch) >= _DESCRIPTORS_AT_A_TIME:
        return step
    return step.unchecked(batch=_DESCRIPTORS_AT_A_TIME, every_packets=None)


def _is_polled(step: Step) -> bool:
    """Whether a driver that polls memory does without the step."""
    return step.kind in ("msi", "mmio-read")
