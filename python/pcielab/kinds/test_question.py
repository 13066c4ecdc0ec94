"""Questions as people write them, and those that cannot be."""

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from pcielab import InputError
from pcielab._core import LANES, SPEEDS_GTPS, Width, read_tunnel, read_width
from pcielab.kinds.question import COUNTS, RATES, TIMES, kind_of, line_of, read_value, read_what


@pytest.mark.parametrize(("what", "units"), [("h2d", RATES), ("latency", TIMES), ("iops", COUNTS)])
@given(data=st.data())
def test_a_value_keeps_its_unit(what: str, units: dict[str, float], data: st.DataObject) -> None:
    unit = data.draw(st.sampled_from(sorted(units)))
    number = data.draw(st.floats(1e-3, 1e6))
    value = read_value(f"{number!r} {unit}".strip(), read_what(what))
    assert value.number == number
    assert value.plain == pytest.approx(number * units[unit])
    assert value.text(value.plain).endswith(unit or "/s")


@given(st.text(max_size=20))
def test_any_text_is_a_value_or_refused(text: str) -> None:
    for what in ("h2d", "latency", "iops"):
        with suppress(InputError):
            assert read_value(text, read_what(what)).plain > 0


@given(st.integers(1, len(SPEEDS_GTPS)), st.sampled_from(LANES), st.integers(1, 16))
def test_links_are_read_as_they_are_written(generation: int, lanes: int, links: int) -> None:
    for text in (f"{links}x gen{generation}x{lanes}", f"{links}*Gen{generation} x{lanes}"):
        assert read_width(text, "--link") == Width(generation, lanes, links)
    assert read_width(f"PCIe {generation}.0 x{lanes}", "--link") == Width(generation, lanes)


@pytest.mark.parametrize(
    ("text", "generation", "lanes"),
    [
        ("16 GT/s x4", 4, 4),
        ("2.5GT/s x1", 1, 1),
        ("32GT/s, 16 lanes", 5, 16),
        ("x16 Gen3", 3, 16),
        ("PCI Express 5.0 x16", 5, 16),
        ("pcie-gen5-x16", 5, 16),
        ("PCIe x8 3.0", 3, 8),
    ],
)
def test_links_are_read_as_lspci_and_people_write_them(text: str, generation: int, lanes: int) -> None:
    assert read_width(text, "--link") == Width(generation, lanes)


@pytest.mark.parametrize(
    ("texts", "raw_gbps", "name"),
    [
        ("tb1", 10, "Thunderbolt 1"),
        ("tb2", 5 * 4 * 8 / 10, "Thunderbolt 2 from a port of Gen2 x4"),
        ("tb3, TB-3, Thunderbolt 3, thunderbolt3", 8 * 4 * 128 / 130, "Thunderbolt 3 from a port of Gen3 x4"),
        ("tb4", 8 * 4 * 128 / 130, "Thunderbolt 4 from a port of Gen3 x4"),
        ("tb5", 16 * 4 * 128 / 130, "Thunderbolt 5 from a port of Gen4 x4"),
        ("usb4, USB4 40G, usb4 40Gbps, USB4 v1", 40, "USB4 at 40 Gb/s"),
        ("usb4-20, USB4 20 Gb/s", 20, "USB4 at 20 Gb/s"),
        ("usb4-80, USB4 v2", 16 * 4 * 128 / 130, "USB4 at 80 Gb/s from a port of Gen4 x4"),
    ],
)
def test_tunnels_are_read_as_people_write_them(texts: str, raw_gbps: float, name: str) -> None:
    for text in texts.split(", "):
        tunnel = read_tunnel(text, "--link")
        assert tunnel is not None
        assert tunnel.raw_gbps == pytest.approx(raw_gbps)
        assert (str(tunnel), tunnel.payload_bytes) == (name, 128)
        assert repr(tunnel) == f"read_tunnel('{tunnel.word}')"
        assert read_tunnel(tunnel.word, "--link") == tunnel


def test_a_link_is_no_tunnel_and_an_unknown_one_is_refused() -> None:
    assert read_tunnel("gen3x4", "--link") is None
    for text in ("tb9", "thunderbolt", "usb3", "usb4 30g"):
        with pytest.raises(InputError, match=r"--link: .*no tunnel of PCIe: give one of tb1, tb2, .*, usb4-80"):
            read_tunnel(text, "--link")


@pytest.mark.parametrize(
    ("what", "text", "unit"),
    [
        ("h2d", "24 GiBps", "GiB/s"),
        ("h2d", "54GB/sec", "GB/s"),
        ("h2d", "54Gb/sec", "Gb/s"),
        ("h2d", "92 gbps", "Gb/s"),
        ("h2d", "12GBps", "GB/s"),
        ("latency", "0.9 usec", "us"),
        ("iops", "1.5M IOPS", "MIOPS"),
        ("iops", "800 kiops", "kIOPS"),
        ("iops", "148.8 Mpps", "Mpps"),
    ],
)
def test_other_spellings_of_units_are_known(what: str, text: str, unit: str) -> None:
    assert read_value(text, read_what(what)).unit == unit


def test_a_unit_that_may_be_bytes_or_bits_is_refused() -> None:
    with pytest.raises(InputError, match=r"'gb/s' may be bytes or bits: give 11GB/s or 11Gb/s"):
        read_value("11 gb/s", "h2d")


@pytest.mark.parametrize(
    "text",
    ["9 GT/s x4", "16 GT/s", "", "gen5", "gen9x16", "gen5x3", "x16", "0x gen5x16", "gen5x16 gen4x8", "5 16"],
)
def test_other_links_are_refused_with_an_example_or_the_widths(text: str) -> None:
    with pytest.raises(InputError, match=r"--link: .*(gen5x16|1, 2, 4, 8)"):
        read_width(text, "--link")


@pytest.mark.parametrize(
    ("name", "kind", "line_gbps"),
    [
        ("ConnectX-6 200G", "nic", 200.0),
        ("ConnectX-7 400 Gb/s", "nic", 400.0),
        ("E810 100G", "nic", 100.0),
        ("Samsung PM1753", "nvme", None),
        ("Alveo U55C", "fpga", None),
        ("H100", "gpu", None),
        ("A100-SXM4-40GB", "gpu", None),
        ("RTX 5090", "gpu", None),
        ("Tenstorrent p150a", "accelerator", None),
        ("a box", None, None),
    ],
)
def test_a_device_is_known_by_its_name(name: str, kind: str | None, line_gbps: float | None) -> None:
    assert (kind_of(name, None), line_of(name)) == (kind, line_gbps)
