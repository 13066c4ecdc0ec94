"""Switches of NICs: what they change in the closed form, and which files are refused."""

from pathlib import Path

import pytest

from pcielab import InputError, model

LINK = model.Link(generation=3, lanes=16, mps_bytes=256, mrrs_bytes=512)
MINE = """\
name = "mine"
description = "mine"
provenance = "mine"
base = "simple-nic"
"""


def rates(name: str, *sizes: int) -> list[model.NicThroughput]:
    return model.nic(model.load_nic(name), LINK, sizes or [64])


def test_both_switches_of_the_82599_make_the_dpdk_driver() -> None:
    found = rates("intel-82599+polling+doorbell-batching", 64, 1500)
    assert found == rates("niantic-dpdk", 64, 1500)
    assert rates("82599", 64) == rates("niantic-kernel", 64)


@pytest.mark.parametrize(
    ("switch", "way"),
    [
        ("mprq", "rx"), ("cqe-compression", "rx"), ("inline", "tx"), ("multi-packet-send", "tx"),
        ("doorbell-batching", "tx"),
    ],
)  # fmt: skip
def test_a_switch_helps_its_own_direction_only(switch: str, way: str) -> None:
    [plain], [on] = rates("connectx-5"), rates(f"connectx-5+{switch}")
    for one in ("tx", "rx"):
        before, after = getattr(plain, one).millions_per_s, getattr(on, one).millions_per_s
        assert (after > before) if one == way else (after == before), one


def test_compressed_completions_are_eight_bytes_for_each_packet() -> None:
    """60 B in a TLP with 24 B around it, a descriptor request, and 64 B or an eighth of 64 B with their 24 B."""
    request = 24 / 16
    for name, completion in (("connectx-5", 88), ("connectx-5+cqe-compression", 88 / 8)):
        [answer] = model.nic(model.load_nic(name), LINK, [64])
        bare = model.bandwidth(LINK, [60])[0].write
        assert answer.rx is not None
        expected = bare.millions_per_s * 84 / (84 + completion + request)
        assert answer.rx.millions_per_s == pytest.approx(expected, rel=0.01), name


def test_inline_acts_on_small_frames_only() -> None:
    plain, inline = rates("connectx-5", 64, 260, 261), rates("connectx-5+inline", 64, 260, 261)
    assert [one.frame_bytes for one in inline] == [64, 260, 261]
    assert [after.tx != before.tx for before, after in zip(plain, inline, strict=True)] == [True, True, False]
    sizes = model.sizing([64, 512], [900.0], device=model.load_nic("connectx-5+inline"))
    # A packet and its share of a completion; a packet, its share of a completion and of a descriptor read.
    assert [one.tx.dmas_per_packet for one in sizes] == [1 + 1 / 32, 1 + 1 / 32 + 1 / 8]


def test_the_name_shows_the_switches_and_a_base_lends_its_steps() -> None:
    nic = model.load_nic("cx7+mprq")
    assert (nic.name, nic.on, nic.step) == ("connectx-7+mprq", ["mprq"], model.load_nic("connectx-5").step)
    assert (nic.queues.ring_descriptors, nic.queues.descriptors_held) == (2048, 128)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('on = ["fast"]', "on: has no feature fast"),
        ('[switch.fast]\nwhat = "x"\nsource = "x"\nleave_out = ["TX descriptor"]',
         "switch.fast.leave_out: no step has what = TX descriptor: did you mean TX descriptor read?"),
        ('[switch.fast]\nwhat = "x"\nsource = "x"\nleave_out = ["packet read"]',
         "switch.fast: step: nothing moves the packet on the path tx"),
        ('[switch.fast]\nwhat = "x"\nsource = "x"\nchange = { "packet read" = { batch = 2 } }',
         "leave batch and every_packets out"),
        ('[switch.fast]\nwhat = "x"\nsource = "x"\nchange = { "packet read" = { size = 2 } }',
         "unknown key switch.fast.change.packet read.size"),
    ],
)  # fmt: skip
def test_a_wrong_switch_is_named(tmp_path: Path, more: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f"{MINE}{more}\n", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        model.load_nic(file)
    assert message in str(refused.value)
    assert str(file) in str(refused.value)


def test_own_files_take_switches_by_path(tmp_path: Path) -> None:
    file = tmp_path / "my+own.toml"
    file.write_text(MINE.replace("simple-nic", "connectx-5"), encoding="utf-8")
    assert model.load_nic(f"{file}+mprq").name == "mine+mprq"
    assert model.load_nic(file).on == []


def test_bases_in_a_circle_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(MINE.replace("simple-nic", "mine.toml"), encoding="utf-8")
    with pytest.raises(InputError, match="more than 8 files start from each other, or in a circle"):
        model.load_nic(file)
