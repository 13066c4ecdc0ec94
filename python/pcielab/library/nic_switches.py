"""Switches of a NIC: features of device and driver that change its steps, such as compressed completions.

`NAME+SWITCH+SWITCH` names a NIC with switches on. A switch changes steps that it names by their `what`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from pcielab.errors import InputError
from pcielab.library.alike import suggestion
from pcielab.library.nic_parts import Step
from pcielab.library.profiles.part import Fits, Part, StepBytes
from pcielab.wording import named

_REFERENCE = re.compile(r"(?P<nic>.*?\.toml|[^+/]+)(?P<switches>(\+[^+/]*)+)")


class StepChange(Part):
    """New values of one step; keys that are left out keep theirs."""

    what: str | None = None
    """New description of the access."""
    kind: Literal["dma-read", "dma-write", "mmio-read", "mmio-write", "msi"] | None = None
    """Another access, by the same actor."""
    bytes: StepBytes | None = None
    """How many bytes."""
    every_packets: Annotated[int, Fits(type="integer", minimum=1, maximum=1_000_000)] | None = None
    """Packets for each access."""
    batch: Annotated[int, Fits(type="integer", minimum=1, maximum=1_000_000)] | None = None
    """Pieces of `bytes` in one access."""


class Switch(Part):
    """A feature that is on or off."""

    what: str
    """What it does, in one sentence."""
    source: str
    """Where its values come from, and which are assumed."""
    frame_bytes_most: Annotated[int, Fits(type="integer", minimum=64, maximum=65_535)] | None = None
    """Largest frame, FCS included, that it acts on; left out: it acts on every frame."""
    leave_out: list[str] = Field(default=[])
    """Steps that do not happen, by their `what`."""
    change: dict[str, StepChange] = Field(default={})
    """New values of steps, by their `what`."""

    def acts_on(self, frame_bytes: int | None) -> bool:
        """Whether it acts on a frame; a frame of unknown size counts as a large one."""
        return self.frame_bytes_most is None or (frame_bytes is not None and frame_bytes <= self.frame_bytes_most)


def split_reference(reference: str) -> tuple[str, list[str]]:
    """A name or path of a NIC, and its switches: `connectx-5+mprq` is `connectx-5` with `mprq`."""
    found = _REFERENCE.fullmatch(reference)
    return (found["nic"], found["switches"][1:].split("+")) if found else (reference, [])


def check_names(nic: str, given: Sequence[str], known: Iterable[str]) -> None:
    """Refuse switches that a NIC does not have, or that are given twice."""
    names = list(known)
    for position, name in enumerate(given):
        if name not in names:
            remedy = suggestion(name, names) if names else "leave it out: this NIC has no features"
            raise _refused(nic, f"has no feature {named(name)}", name, remedy)
        if name in given[:position]:
            raise _refused(nic, f"feature {named(name)} is given twice", name, "give it once")


def check_steps(name: str, switch: Switch, steps: Iterable[Step]) -> None:
    """Refuse a switch that names a step that the NIC does not have."""
    known = dict.fromkeys(step.what for step in steps)
    for key, wanted in (("leave_out", switch.leave_out), ("change", switch.change)):
        for what in wanted:
            if what not in known:
                where = f"switch.{name}.{key}"
                raise _refused(where, f"no step has what = {named(what)}", what, suggestion(what, known), where)


def switched(steps: Sequence[Step], switches: Iterable[Switch]) -> list[Step]:
    """The steps with switches on; where two change a key, the later one determines it."""
    left_out: set[str] = set()
    changes: dict[str, dict[str, object]] = {}
    for switch in switches:
        left_out |= set(switch.leave_out)
        for what, change in switch.change.items():
            changes.setdefault(what, {}).update(change.model_dump(exclude_none=True))
    kept = [step for step in steps if step.what not in left_out]
    return [step.model_copy(update=changes.get(step.what, {})) for step in kept]


def merged(own: Mapping[str, object], base: Mapping[str, object]) -> dict[str, object]:
    """The table of a file over that of its base: tables key by key, everything else whole."""
    whole = dict(base)
    for key, value in own.items():
        below = whole.get(key)
        both = isinstance(value, dict) and isinstance(below, dict)
        whole[key] = {**below, **value} if both else value  # type: ignore[dict-item]
    return whole


def _refused(where: str, problem: str, value: str, remedy: str, key: str | None = None) -> InputError:
    refused = InputError(f"{where}: {problem}: {remedy}")
    refused.subject, refused.key, refused.value, refused.remedy = where, key, value, remedy
    return refused
