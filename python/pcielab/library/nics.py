"""NIC profiles: TOML files, the shipped ones found by name, and their features.

The compiled half reads and checks them (`crates/pcie-describe`).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.library import shipped
from pcielab.library.nic_parts import Nic, Queues, Step, Switch
from pcielab.library.profiles.read import opened, parse_sets

_PLAIN = ("name", "description", "provenance", "step", "queues")
"""Keys of a NIC without features."""


class NicProfile(Nic):
    """A NIC: the PCIe accesses of the NIC and its driver for each packet."""

    compiled = _core.Nic
    word = "NIC"

    base: str | None
    """Another NIC, by name or path, for keys that this file omits."""
    aliases: list[str]
    """Other names of a shipped NIC; case is ignored."""

    @property
    def direction(self) -> Literal["both", "tx", "rx"]:
        """The only direction of its steps, or both."""
        return self.handle.direction()

    def with_steps(self, steps: Iterable[Step]) -> "NicProfile":
        """This NIC with other steps and without switches, whose steps it may lack.

        Raises:
            InputError: A step is impossible.
        """
        return self.with_({"step": [step.dump() for step in steps], "switch": {}, "on": []})

    def with_switches(self, names: Iterable[str]) -> "NicProfile":
        """This NIC with more switches on, which its name then shows.

        Raises:
            InputError: It has no switch of a name, or the switch is on already.
        """
        return NicProfile(self.handle.with_switches(list(names)))

    def for_frames(self, frame_bytes: int | None = None) -> "NicProfile":
        """This NIC with the steps that frames of a size take, FCS included, and without switches.

        Without a size, switches that act on small frames only are off.
        """
        return NicProfile(self.handle.for_frames(frame_bytes))

    def limits(self) -> dict[str, int]:
        """The switches that are on and act on small frames only, each with the largest of these frames."""
        return dict(self.handle.limits())

    def as_question(self, frame_bytes: int | None = None) -> dict[str, Any]:
        """Its values as runs record them, for frames of a size; see `for_frames`."""
        values = self.for_frames(frame_bytes).dump()
        question = {key: _without_none(values[key]) for key in _PLAIN}
        intervals = json.loads(self.handle.intervals())
        return {**question, **({"assumed": intervals} if intervals else {})}


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(one) for key, one in value.items() if one is not None}
    return [_without_none(one) for one in value] if isinstance(value, list) else value


def shipped_nics() -> list[str]:
    """Names of the shipped NICs."""
    return list(shipped.profile_files("nic"))


@refuses_wrong_types
def load_nic(name_or_file: str | Path, sets: Mapping[str, object] | Sequence[str] = ()) -> NicProfile:
    """Read a NIC by name or file; `NAME+SWITCH` or `FILE+SWITCH` turns switches on.

    Args:
        name_or_file: Name or file.
        sets: Changes, as `{"queues.pairs": 4}` or `["queues.pairs=4"]`.

    Raises:
        InputError: The NIC is missing or wrong; the message names the file and the key.
    """
    return NicProfile(_core.Nic.read(str(name_or_file), parse_sets(sets), opened))


__all__ = ["NicProfile", "Queues", "Step", "Switch", "load_nic", "shipped_nics"]
