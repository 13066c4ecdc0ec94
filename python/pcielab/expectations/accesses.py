"""Loads of a core from a device, and doorbells: the closed form of `pcielab model mmio` for a device of a machine.

The core is the one that the processor's name shows, else the usual one of the link's generation; the BAR is that
of the device's title or kind. Their intervals are those of all machines of the profiles: no answer is measured.
"""

from dataclasses import dataclass
from functools import cache

from pcielab.errors import refusal
from pcielab.expectations.machine import Machine, Part
from pcielab.library.cores import bar_for, core_for, load_bar, load_core
from pcielab.library.link import Link
from pcielab.library.usual_link import USUAL_MPS_BYTES, usual_mrrs_bytes
from pcielab.model.mmio_questions import Access, mmio

_REGISTER_BYTES = 4


@dataclass(frozen=True)
class AccessRange:
    """The time of an access.

    Attributes:
        lower: The least, us.
        upper: The longest, us.
        profiles: Those of core and BAR, in words.
    """

    lower: float
    upper: float
    profiles: tuple[str, str]


def access_range(machine: Machine, part: Part, *, is_load: bool, socket: int | None) -> AccessRange:
    """The time of a load of 4 B, or of a doorbell until the device has it.

    Args:
        machine: The machine.
        part: The device.
        is_load: Whether it is a load.
        socket: The core's; None: the device's own.

    Raises:
        InputError: The link of the device is unknown.
    """
    if part.link is None:
        raise refusal("missing", f'{part.name}: its link is unknown: give it as link = "gen5x16"')
    core, bar = core_for(machine.processor, part.link.generation), bar_for(f"{part.title} {part.kind}")
    mps_bytes = part.link.mps_bytes or USUAL_MPS_BYTES
    link = Link(
        generation=part.link.generation,
        lanes=part.link.lanes,
        mps_bytes=mps_bytes,
        mrrs_bytes=usual_mrrs_bytes(mps_bytes),
    )
    own = machine.top(part.name).socket
    access = Access(
        instruction="uncached-load" if is_load else "doorbell",
        size_bytes=_REGISTER_BYTES,
        switches=len(machine.chain(part.name)) - 1,
        remote=socket is not None and own is not None and socket != own,
    )
    lower_ns, upper_ns = _times_ns(core, bar, link, access)
    return AccessRange(lower_ns / 1e3, upper_ns / 1e3, (f"core {core}", f"BAR {bar}"))


@cache
def _times_ns(core: str, bar: str, link: Link, access: Access) -> tuple[float, float]:
    [times] = mmio(load_core(core), load_bar(bar), [access], link=link)
    return times.done_ns.least, times.done_ns.most
