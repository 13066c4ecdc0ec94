"""A loaded host in closed form: its laws, its shares and its refusals."""

import pytest

from pcielab import InputError, model
from pcielab.library.profiles import resolve


def test_latency_rises_before_the_rate_falls() -> None:
    answers = model.host("clx-6234", range(7))
    rates = [answer.devices[0].write.gbps for answer in answers]
    latencies = [answer.write_pool.latency_ns for answer in answers if answer.write_pool]
    assert rates[0] == rates[2] > rates[3] > rates[6]
    assert latencies == sorted(latencies)
    assert latencies[2] > 1.05 * latencies[0]
    assert [answer.devices[0].write.bound for answer in answers[3:]] == ["memory"] * 4


def test_an_offered_rate_fills_the_pool_less_than_saturation() -> None:
    """Memory takes 97 Gb/s beside three cores: a device that asks for 60 waits as beside none."""
    [saturated] = model.host("clx-6234", [3])
    [offered] = model.host("clx-6234", [3], offered_gbps=60.0)
    [idle] = model.host("clx-6234", [0], offered_gbps=60.0)
    assert saturated.write_pool is not None
    assert offered.write_pool is not None
    assert idle.write_pool is not None
    device = offered.devices[0]
    assert (device.write.gbps, device.read.gbps) == (60.0, 60.0)
    assert offered.write_pool.latency_ns < 0.75 * saturated.write_pool.latency_ns
    assert offered.write_pool.latency_ns == pytest.approx(idle.write_pool.latency_ns, rel=0.03)
    assert model.host("clx-6234", [3], offered_gbps=1000.0) == model.host("clx-6234", [3])


def test_cores_that_nobody_measured_are_marked() -> None:
    answers = model.host("clx-6234", [0, 6, 7])
    assert [answer.extrapolated for answer in answers] == [False, False, True]
    assert answers.notes == ("the law of host.load.cores was fitted to measurements of 0 to 6 cores",)
    assert model.host("clx-6234", range(7)).notes == ()
    assert resolve("clx-6234", ["host.load.cores=7"]).extrapolated == list(answers.notes)
    assert resolve("clx-6234", ["host.load.cores=6"]).extrapolated == []


def test_cores_take_their_share_of_a_saturated_memory() -> None:
    host = resolve("clx-6234").system.host
    assert host.load is not None
    assert host.memory.saturated_gbytes_per_s is not None
    answer = model.host("clx-6234", [6])[0]
    expected = host.memory.saturated_gbytes_per_s / (1 + 6 * host.load.core_share)
    assert answer.write_traffic_gbytes_per_s == pytest.approx(expected)
    assert answer.write_pool is not None
    passed = answer.devices[0].write.gbps / 8 / 64
    assert answer.write_pool.lines == pytest.approx(passed * answer.write_pool.latency_ns)


def test_cores_that_only_read_cost_nothing() -> None:
    idle, loaded = model.host("clx-6234", [0, 6], kind="read")
    assert idle.devices == loaded.devices
    assert model.host("clx-6234", [6])[0].devices[0].read == idle.devices[0].read


def test_misses_set_the_rate_whatever_the_link() -> None:
    answer = model.host("icx-6346", [0], misses_per_mib=432)[0].devices[0]
    assert answer.write.bound == "translation"
    assert answer.write.gbps == pytest.approx(8 * 2**20 / (432 * 121))
    [by_pages] = model.host("icx-6346", [0])
    assert by_pages.devices[0].write.bound != "translation", "one miss for each page is not enough"


def test_devices_share_max_min() -> None:
    [answer] = model.host("gen5-gpu", [0], devices=["4x gen5x16", "gen3x4"])
    *large, small = (device.write.gbps for device in answer.devices)
    assert small < 32
    assert max(large) - min(large) < 1e-6
    assert small + sum(large) == pytest.approx(8 * 152.4)
    assert {device.read.bound for device in answer.devices} == {"root-port"}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"system": "hsw2620", "cores": [2]},
            "says nothing about busy cores: give its keys host.load, or 0 cores",
        ),
        ({"system": "clx-6234", "cores": [0], "misses_per_mib": 0.0}, "misses_per_mib is 0: give above 0"),
        ({"system": "clx-6234", "cores": [0], "devices": ["gen9x4"]}, "no such link"),
        ({"system": "clx-6234", "cores": [9999]}, "host.load.cores is 9999: give 0 to 4096"),
    ],
)
def test_refuses(asked: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.host(**asked)  # type: ignore[arg-type]
