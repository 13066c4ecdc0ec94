"""Engines that work on commands: rates by hand, and which files are refused."""

from pathlib import Path

import pytest

from pcielab import InputError, model
from pcielab.library import shipped


def rate(name: str, size_bytes: int, depth: int | None = None) -> model.EngineRates:
    [found] = model.engine(model.load_engine(name), [size_bytes], depth=depth)
    return found


def test_large_copies_meet_the_closed_form_of_the_link() -> None:
    """All overhead of a command vanishes in 64 MiB: what is left is a bare DMA of pages."""
    engine = model.load_engine("gpu-h100")
    bare = model.bandwidth(engine.usual_link, [4096])[0]
    found = rate("gpu-h100", 64 << 20)
    assert found.to_device.gbytes_per_s == pytest.approx(bare.read.gbps / 8, rel=1e-3)
    assert found.to_host.gbytes_per_s == pytest.approx(bare.write.gbps / 8, rel=1e-3)
    assert (found.to_device.bound, found.to_host.bound) == ("wire-downstream", "wire-upstream")


def test_one_small_copy_at_a_time_costs_its_fixed_time() -> None:
    found = rate("gpu", 4096, depth=1).to_host
    assert found.bound == "queue-depth"
    assert found.gbytes_per_s == pytest.approx(4096 / (6500 + 4096 / found.ceilings["wire-upstream"]))


def test_more_commands_in_flight_help_until_the_engine_or_the_link_binds() -> None:
    bounds = [rate("nvme-gen4", 512, depth).to_host for depth in (1, 16, 64, 256)]
    assert [one.bound for one in bounds] == ["queue-depth", "queue-depth", "command-rate", "command-rate"]
    assert bounds[1].million_commands_per_s == pytest.approx(16 * bounds[0].million_commands_per_s)
    assert bounds[3].million_commands_per_s == pytest.approx(5.0)


def test_lists_of_pages_cost_link_time_only_above_two_pages() -> None:
    """A list of 8 B for each page costs a request upstream and a completion downstream."""
    drive = model.load_engine("nvme-gen3")
    without = drive.with_({"step": [step.dump() for step in drive.step if step.every_bytes is None]})
    for size, costs in ((4096, False), (8192, False), (12288, True)):
        [with_list], [bare] = (model.engine(one, [size]) for one in (drive, without))
        slower = with_list.to_device.ceilings["wire-downstream"] < bare.to_device.ceilings["wire-downstream"]
        assert slower is costs, size


def test_the_device_binds_where_its_own_memory_is_slower() -> None:
    drive = model.load_engine("nvme-gen5")
    slow = drive.with_({"pace.to_device_gbytes_per_s": 4.0})
    [found] = model.engine(slow, [1 << 20])
    assert (found.to_device.bound, found.to_device.gbytes_per_s) == ("device", 4.0)
    assert found.to_host.bound == "wire-upstream"


@pytest.mark.parametrize("size", [59, 4097, 5 * 1024, (1 << 30) + 4096])
def test_refuses_sizes_that_are_no_pages(size: int) -> None:
    with pytest.raises(InputError, match=r"sizes_bytes is .*: give 60 to 4096 bytes, or a multiple of 4096"):
        rate("gpu", size)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("depth = 2\n", "depth = 2048\n", "give a queue.depth of at most queue.depth_most"),
        ('kind = "dma-read"\nbytes = "data"', 'kind = "dma-write"\nbytes = "data"',
         'path = "to-device" and kind = "dma-read"'),
        ("bytes = 64", "bytes = 64\nevery_commands = 2\nbatch = 2", "give every_commands alone"),
        ("bytes = 64", "bytes = 64\nbatch = 100_000", "at most 1 MiB"),
        ("command_ns", "command_us", "command_ns"),
        ("lanes = 16", "lanes = 6", "link.lanes is 6"),
    ],
)  # fmt: skip
def test_a_wrong_engine_file_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = shipped.profile_files("engine")["gpu"].read_text(encoding="utf-8")
    assert old in text
    file = tmp_path / "wrong.toml"
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        model.load_engine(file)
    assert message in str(refused.value)
    assert str(file) in str(refused.value)
