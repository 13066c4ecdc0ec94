"""NIC profiles: TOML files, the shipped ones found by name. The crate pcie-model checks their steps."""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import InputError, found_in
from pcielab.library import shipped
from pcielab.library.input_files import read_toml
from pcielab.library.lookup import profile_file
from pcielab.library.nic_parts import Interactions, Queues, Step
from pcielab.library.nic_switches import Switch, check_names, check_steps, merged, split_reference, switched
from pcielab.library.validation import checked
from pcielab.wording import shown

_BASES_MOST = 8
_NOT_INHERITED = ("aliases", "base")


class NicProfile(Interactions):
    """A NIC: the PCIe accesses of the NIC and its driver for each packet."""

    base: str | None = None
    """Another NIC, by name or path, for keys that this file omits."""
    aliases: list[str] = Field(default=[])
    """Other names of a shipped NIC; case is ignored."""
    switch: dict[str, Switch] = Field(default={})
    """Features that change steps, by name."""
    on: list[str] = Field(default=[])
    """Switches that are on; `NAME+SWITCH` turns on more."""

    @property
    def direction(self) -> Literal["both", "tx", "rx"]:
        """The only direction of its steps, or both."""
        paths = {step.path for step in self.step}
        return "both" if len(paths) != 1 else next(iter(paths))

    def with_switches(self, names: Iterable[str]) -> "NicProfile":
        """This NIC with more switches on, which its name then shows.

        Raises:
            InputError: It has no switch of a name, or the switch is on already.
        """
        more = list(names)
        check_names(self.name, [*self.on, *more], self.switch)
        return self.model_copy(update={"on": [*self.on, *more], "name": "+".join([self.name, *more])})

    def as_question(self, frame_bytes: int | None = None) -> dict[str, Any]:
        """The profile as the compiled half takes it, for frames of a size, FCS included.

        Without a size, switches that act on small frames only are off.
        """
        acting = [self.switch[name] for name in self.on if self.switch[name].acts_on(frame_bytes)]
        plain = self.model_copy(update={"step": switched(self.step, acting)})
        fields = set(Interactions.model_fields)
        return plain.model_dump(mode="json", exclude_none=True, include=fields)

    def as_questions(self, frames_bytes: Sequence[int]) -> list[tuple[dict[str, Any], list[int]]]:
        """The profile for frames of each size: runs of sizes for which it is the same."""
        limits = [limit for name in self.on if (limit := self.switch[name].frame_bytes_most) is not None]
        runs = groupby(frames_bytes, key=lambda size: [size <= limit for limit in limits])
        return [(self.as_question(sizes[0]), sizes) for sizes in (list(run) for _, run in runs)]


def shipped_nics() -> list[str]:
    """Names of the shipped NICs."""
    return list(shipped.profile_files("nic"))


@refuses_wrong_types
def load_nic(name_or_file: str | Path) -> NicProfile:
    """Read a NIC by name or file; `NAME+SWITCH` or `FILE+SWITCH` turns switches on.

    Raises:
        InputError: The NIC is missing or wrong; the message names the file and the key.
    """
    reference, switches = split_reference(str(name_or_file))
    path = profile_file("nic", reference)
    profile = checked(NicProfile, _with_base(path), str(path))
    with found_in(path):
        _check(profile)
    return profile.with_switches(switches) if switches else profile


def _with_base(path: Path) -> dict[str, Any]:
    """The content of a file over that of its bases."""
    layers: list[dict[str, Any]] = [read_toml(path)]
    reference, beside = layers[0].get("base"), path.parent
    while isinstance(reference, str):
        if len(layers) > _BASES_MOST:
            raise InputError(f"{path}: base is {shown(reference)}: more than {_BASES_MOST} bases, or a circle")
        file = profile_file("nic", reference, beside)
        layers.append(read_toml(file))
        reference, beside = layers[-1].get("base"), file.parent
    content: dict[str, Any] = {}
    for layer in reversed(layers[1:]):
        content = merged({key: value for key, value in layer.items() if key not in _NOT_INHERITED}, content)
    return merged(layers[0], content)


def _check(profile: NicProfile) -> None:
    """Check the steps without switches, with each alone, and with all that are on."""
    _core.model_check_nic(json.dumps(profile.model_copy(update={"on": []}).as_question()))
    for name, switch in profile.switch.items():
        check_steps(name, switch, profile.step)
        alone = profile.model_copy(update={"on": [name]}).as_question(switch.frame_bytes_most)
        with found_in(f"switch.{name}"):
            _core.model_check_nic(json.dumps(alone))
    check_names("on", profile.on, profile.switch)
    if profile.on:
        _core.model_check_nic(json.dumps(profile.as_question()))


__all__ = ["NicProfile", "Queues", "Step", "Switch", "load_nic", "shipped_nics"]
