"""Loads and doorbells of a machine are those of `pcielab model mmio`."""

import pytest

from pcielab import InputError, expect, model
from pcielab.expectations.machine import Link, Machine, Part
from pcielab.model.answers import Instruction

GEN5 = Link(5, 16)


def machine(link: Link | None = GEN5) -> Machine:
    switch = Part("sw0", "switch", GEN5, socket=1)
    gpu = Part("gpu0", "gpu", link, upper="sw0", title="NVIDIA H100")
    return Machine("two", "Two sockets", "Xeon Platinum 8480C", None, 2, {"sw0": switch, "gpu0": gpu})


@pytest.mark.parametrize(("question", "instruction"), [("load", "uncached-load"), ("doorbell", "doorbell")])
@pytest.mark.parametrize(("socket", "remote"), [("", False), (" memory=1", False), (" memory=0", True)])
def test_an_access_takes_the_time_of_the_closed_form(
    question: str, instruction: Instruction, socket: str, remote: bool
) -> None:
    given = expect(machine(), ask=[f"{question} gpu0{socket}"]).rows[0].given
    link = model.Link(generation=5, lanes=16, mps_bytes=256, mrrs_bytes=512)
    access = model.Access(instruction=instruction, size_bytes=4, switches=1, remote=remote)
    core, bar = model.load_core("sapphire-rapids-2023"), model.load_bar("gpu")
    [times] = model.mmio(core, bar, [access], link=link)
    assert given is not None
    assert (given.lower, given.upper) == (times.done_ns.least / 1e3, times.done_ns.most / 1e3)
    assert given.rows == ("core sapphire-rapids-2023", "BAR gpu")


def test_a_device_without_a_link_is_refused() -> None:
    with pytest.raises(InputError, match="gpu0: its link is unknown"):
        expect(machine(None), ask=["load gpu0"])
