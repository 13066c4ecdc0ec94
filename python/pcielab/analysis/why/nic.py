"""Why a NIC moves no more packets: on a bare link in closed form, or on a simulated machine."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from pcielab import _core, model
from pcielab.analysis.why.answer import Why, read_answer
from pcielab.analysis.why.predicted import no_progress
from pcielab.library.packet_rates import stated_rates
from pcielab.work.effort import Progress

if TYPE_CHECKING:
    from pcielab.library.profiles.parts import System
    from pcielab.work.frames import Frames


@dataclass(frozen=True)
class OnMachine:
    """A simulated machine, whose device is the port of the NIC.

    Attributes:
        system: The system.
        unmeasured: Its keys that nobody measured, as `unmeasured_keys` names them.
        borrowed: Its borrowed keys, and the profile that each comes from.
    """

    system: "System"
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    borrowed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OnLink:
    """A bare link, in closed form.

    Attributes:
        link: The link.
        is_assumed: Whether nobody gave it.
    """

    link: model.Link
    is_assumed: bool = False


Ground: TypeAlias = OnMachine | OnLink


def why_frames(
    frames: "Frames",
    ground: Ground,
    measured_gbps: float | None = None,
    notes: Sequence[str] = (),
    progress: Progress = no_progress,
    recorded: tuple[float, str] | None = None,
) -> Why:
    """Why frames of one size move no faster.

    Rates count the bytes that cross PCIe: frames less their FCS. A measured rate above the bound that fits the NIC
    with a change of its profile is answered for that NIC.

    Args:
        frames: The NIC, one frame size, the line and the direction.
        ground: What the NIC is attached to.
        measured_gbps: The measured rate of one direction.
        notes: Assumptions, for the answer.
        progress: Called while changes are tried.
        recorded: The rate that a run recorded and what bound it, which is explained instead of a new one.

    Raises:
        InputError: The NIC cannot run there.
    """
    [traffic] = json.loads(replace(frames, packets=_core.COUNTED_PACKETS).to_json())
    asked: dict[str, Any] = {
        "traffic": traffic,
        "measured": measured_gbps,
        "notes": list(notes),
        "stated": stated_rates(),
    }
    if recorded is not None:
        asked["recorded"] = dict(zip(("gbps", "binds"), recorded, strict=True))
    if isinstance(ground, OnMachine):
        asked |= {"unmeasured": dict(ground.unmeasured), "borrowed": dict(ground.borrowed)}
        text = _core.why_nic(frames.nic.handle, ground.system.handle, json.dumps(asked), progress)
    else:
        asked |= {"is_link_assumed": ground.is_assumed}
        link = json.dumps(asdict(ground.link))
        text = _core.why_nic_on_link(frames.nic.handle, link, json.dumps(asked), progress)
    return read_answer(text)


def usual_link(line_gbps: float) -> model.Link:
    """The link of the slot that NICs of a line rate usually have, with the usual MPS and MRRS."""
    generation, lanes, mps_bytes, mrrs_bytes = _core.ethernet_link(line_gbps)
    return model.Link(generation=generation, lanes=lanes, mps_bytes=mps_bytes, mrrs_bytes=mrrs_bytes)
