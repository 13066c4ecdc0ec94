"""The rate of a NIC and its bounds: in closed form on a bare link, or simulated on a machine."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from pcielab import _core, model
from pcielab.analysis.why.searches import Search, read_search
from pcielab.library.nics import NicProfile
from pcielab.library.usual_link import USUAL_MPS_BYTES, USUAL_MRRS_BYTES
from pcielab.work.effort import Progress

if TYPE_CHECKING:
    from pcielab.library.profiles.parts import System
    from pcielab.work.frames import Frames

DIRECTIONS = {"both": "bi", "tx": "tx", "rx": "rx"}
"""Directions of frames, and their names in the answers of `pcielab.model.nic`."""
_LINK_KEYS = ("generation", "lanes", "mps_bytes", "mrrs_bytes")
_USUAL_LINKS = ((50.0, 3, 8), (100.0, 3, 16), (200.0, 4, 16), (400.0, 5, 16), (800.0, 6, 16))
"""Line rates, and the first link of common slots that carries them."""
_PACKETS = 20_000
"""Packets that a simulation counts: as many as a run."""


@dataclass(frozen=True)
class NicRate:
    """The rate of a NIC, and its bounds.

    Attributes:
        gbps: The rate: simulated, or that of the tightest bound.
        binds: What binds it: `line`, or a bound of `pcielab.model`.
        bounds: Each bound with its rate, tightest first.
    """

    gbps: float
    binds: str
    bounds: tuple[tuple[str, float], ...]


class Rates(ABC):
    """Gives rates of frames.

    Attributes:
        frames: One frame size; its NIC is replaced by that in question.
        link: The link without changes.
        keys: Values of the link that can change.
        unmeasured: Keys of the machine that nobody measured, as `unmeasured_keys` names them.
    """

    frames: "Frames"
    link: model.Link
    keys: Mapping[str, int]
    unmeasured: Mapping[str, str] = MappingProxyType({})

    @abstractmethod
    def rate(self, nic: NicProfile, changed: Mapping[str, int] | None = None) -> NicRate:
        """The rate of a NIC whose link has some values changed."""

    @abstractmethod
    def of_nic(self, nic: NicProfile) -> "Rates":
        """The rates of another NIC that is attached alike."""

    @abstractmethod
    def simulated(self, rate: NicRate) -> float | None:
        """The rate as a value to compare with bounds; None in closed form, where it is the bound."""

    @abstractmethod
    def search(self, progress: Progress) -> Search | None:
        """What every change of the NIC and of what it is attached to gives."""

    @property
    def link_text(self) -> str:
        """The link in words."""
        return f"Gen{self.link.generation} x{self.link.lanes}"

    def bounds(self, nic: NicProfile, link: model.Link) -> tuple[tuple[str, float], ...]:
        """The bounds of line and bare link in closed form, tightest first."""
        [found] = model.nic(nic, link, self.frames.frames_bytes, ethernet=self.frames.ethernet)
        answer = getattr(found, DIRECTIONS[self.frames.direction])
        ceilings = [(ceiling.bound, ceiling.gbps) for ceiling in answer.ceilings]
        return tuple(sorted([("line", found.line_gbps), *ceilings], key=lambda bound: bound[1]))


class LinkRates(Rates):
    """Rates in closed form, of the line and a bare link."""

    def __init__(self, frames: "Frames", link: model.Link) -> None:
        self.frames, self.link = frames, link
        self.keys = {key: getattr(link, key) for key in _LINK_KEYS}

    def of_nic(self, nic: NicProfile) -> Rates:
        """See `Rates`."""
        return LinkRates(replace(self.frames, nic=nic), self.link)

    def rate(self, nic: NicProfile, changed: Mapping[str, int] | None = None) -> NicRate:
        """See `Rates`."""
        bounds = self.bounds(nic, replace(self.link, **(changed or {})))  # type: ignore[arg-type]
        binds, gbps = bounds[0]
        return NicRate(gbps, binds, bounds)

    def simulated(self, rate: NicRate) -> float | None:
        """See `Rates`."""
        return None

    def search(self, progress: Progress) -> Search | None:
        """See `Rates`."""
        link = json.dumps(asdict(self.link))
        return read_search(
            _core.why_nic_on_link(self.frames.nic.handle, link, _traffic(self.frames), progress), "Gb/s"
        )


class MachineRates(Rates):
    """Rates simulated on a machine, whose device is the port of the NIC."""

    def __init__(
        self, frames: "Frames", system: "System", unmeasured: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.frames, self.system, self.unmeasured = frames, system, unmeasured
        self.keys = {key: getattr(system.link, key) for key in (*_LINK_KEYS, "tags")}
        own_tags = system.device.dma.tags
        if own_tags is not None:
            self.keys["tags"] = min(own_tags, self.keys["tags"])

    @cached_property
    def link(self) -> model.Link:  # type: ignore[override]
        """The system's link."""
        return _model_link(self.system)

    def of_nic(self, nic: NicProfile) -> Rates:
        """See `Rates`."""
        return MachineRates(replace(self.frames, nic=nic), self.system, self.unmeasured)

    def rate(self, nic: NicProfile, changed: Mapping[str, int] | None = None) -> NicRate:
        """See `Rates`."""
        from pcielab.devices.running import run

        system = self.system.with_({f"link.{key}": value for key, value in (changed or {}).items()})
        backend = _core.Backend.nic(system.handle, nic.handle, self.frames.frame_bytes_least)
        store = run(replace(self.frames, nic=nic, packets=_PACKETS), backend)
        found = store.scalar_rows.set_index(["subject", "metric"])["value"]
        rows = store.scalar_rows
        binds = str(rows.loc[rows["metric"] == "binds", "subject"].iloc[0])
        return NicRate(float(found["", "bandwidth"]), binds, self.bounds(nic, _model_link(system)))

    def simulated(self, rate: NicRate) -> float | None:
        """See `Rates`."""
        return rate.gbps

    def search(self, progress: Progress) -> Search | None:
        """See `Rates`."""
        handles = self.frames.nic.handle, self.system.handle
        return read_search(_core.why_nic(*handles, _traffic(self.frames), progress), "Gb/s")


def usual_link(line_gbps: float) -> model.Link:
    """The link of the slot that NICs of a line rate usually have, with the usual MPS and MRRS."""
    generation, lanes = next(
        ((generation, lanes) for most, generation, lanes in _USUAL_LINKS if line_gbps <= most), (6, 16)
    )
    return model.Link(generation=generation, lanes=lanes, mps_bytes=USUAL_MPS_BYTES, mrrs_bytes=USUAL_MRRS_BYTES)


def _traffic(frames: "Frames") -> str:
    """The only frame size as the compiled half takes it."""
    [test] = json.loads(replace(frames, packets=_PACKETS).to_json())
    return json.dumps(test)


def _model_link(system: "System") -> model.Link:
    keys = {"generation", "lanes", "mps_bytes", "mrrs_bytes", "rcb_bytes", "ecrc"}
    return model.Link(**{key: getattr(system.link, key) for key in keys})
