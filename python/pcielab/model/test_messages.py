"""Message profiles and the model's answers about them."""

from dataclasses import replace
from pathlib import Path

import pytest

from pcielab import model
from pcielab.errors import InputError

PROFILE = Path(__file__).parents[3] / "profiles/pio/kpio-2012.toml"


@pytest.mark.parametrize("name", model.shipped_message_profiles())
def test_answers_for_every_shipped_profile(name: str) -> None:
    profile = model.load_message_profile(name)
    answer = model.messages(profile, [64])[0]
    assert answer.write_combined.latency_ns < answer.descriptors.latency_ns


def test_the_default_profile_gives_the_papers_numbers() -> None:
    answer = model.messages(model.load_message_profile("kpio-2012"), [64])[0]
    assert answer.write_combined.wire_efficiency == pytest.approx(0.727, abs=5e-4)
    assert answer.uncached.wire_efficiency == pytest.approx(0.25)
    assert (answer.write_combined.latency_ns, answer.descriptors.latency_ns) == pytest.approx((232, 1736))


def test_answers_for_a_later_link_name_the_core_that_was_measured() -> None:
    profile = model.load_message_profile("kpio-2012")
    [note] = model.messages(profile, [64], link=replace(profile.link, generation=5)).notes
    assert "kpio-2012 (" in note
    assert profile.title in note
    assert "no evidence about a Gen5 machine" in note
    assert model.messages(profile, [64]).notes == ()
    assert model.messages(profile, [64], link=profile.link).notes == ()


def test_refuses_loopback_of_a_profile_without_it() -> None:
    exanic = model.load_message_profile("exanic-2018")
    small, large = model.loopback(exanic, [128, 1500])
    assert (small.total_ns, small.pcie_ns) == pytest.approx((1000, 900))
    assert large.pcie_share == pytest.approx(0.77, abs=0.02)
    with pytest.raises(InputError, match="kpio-2012: has no \\[loopback\\]"):
        model.loopback(model.load_message_profile("kpio-2012"), [128])


def test_errors_name_file_key_and_remedy(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    shipped = model.load_message_profile("kpio-2012")
    assert shipped.core.write_combining_buffers == 10
    text = PROFILE.read_text()
    for old, new, found in [
        ("buffers = 10", "buffers = 0", "core.write_combining_buffers is 0"),
        ("fill_ns = 3.2", "fill_us = 3.2", "unknown key core.fill_us"),
        ("interval_ns = 108.0", "interval_ns = 50.0", "stores.stream_interval_ns is 50"),
        ('system = "kpio-2012"', 'system = "kpio"', "no system profile is named 'kpio'"),
    ]:
        path.write_text(text.replace(old, new))
        with pytest.raises(InputError) as refused:
            model.load_message_profile(path)
        assert str(path) in str(refused.value)
        assert found in str(refused.value)
