"""Options with numbers read units, and refuse what is no quantity: name, value and remedy."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from pcielab import InputError, model
from pcielab.cli import commands
from pcielab.cli.commands import COMMANDS, _loaded
from pcielab.cli.model_options import MODEL_OPTIONS
from pcielab.cli.quantities import range_of, unit_of

TYPERS_NUMBERS = ("IntParamType", "IntRange", "FloatParamType", "FloatRange")
NO_QUANTITIES = ("abc", "-1", "nan", "1e400", "5 parsecs")


def _options() -> Iterator[tuple[str, Any]]:
    """Every numeric option, with the words before it."""

    def of(command: Any, words: str) -> Iterator[tuple[str, Any]]:
        for name, inner in getattr(command, "commands", {}).items():
            yield from of(inner, f"{words} {name}")
        for parameter in command.params:
            if type(parameter.type).__name__ in TYPERS_NUMBERS or parameter.metavar == "BYTES":
                yield f"{words} {parameter.opts[0]}", parameter

    for name in COMMANDS:
        yield from of(_loaded(name), name)


OPTIONS = dict(_options())


@pytest.mark.parametrize("words", OPTIONS)
def test_what_is_no_quantity_is_refused_by_option_value_and_remedy(words: str) -> None:
    parameter = OPTIONS[words]
    for text in NO_QUANTITIES:
        with pytest.raises(InputError) as refused:
            parameter.type.convert(text, parameter, None)
        name = re.escape(parameter.opts[0])
        assert re.fullmatch(rf"{name}: '{text}'.*: give .+", str(refused.value)), str(refused.value)


@pytest.mark.parametrize("words", OPTIONS)
def test_a_refusal_names_the_range_or_the_only_values(words: str) -> None:
    parameter = OPTIONS[words]
    number = r"[\d.]+(e-?\d+)?"
    for text in ("-1", "nan", "5 parsecs"):
        with pytest.raises(InputError, match=rf"give {number} to {number}|give {number}(, {number})* or {number}"):
            parameter.type.convert(text, parameter, None)


def test_the_ranges_are_those_of_the_model() -> None:
    link = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
    tried = 0
    for one in MODEL_OPTIONS:
        if one.of == "limits":
            least, most = range_of(one.name, OPTIONS[f"model bandwidth {one.name}"].type)
            beside: dict[str, Any] = {"round_trip_ns": 900.0, "credit_return_ns": 900.0}
            for value in (least, most):
                limits = model.Limits(**{**beside, one.key: value})
                assert len(model.bandwidth(link, [64], limits=limits)) == 1
                tried += 1
            with pytest.raises((InputError, OverflowError)):
                model.bandwidth(link, [64], limits=model.Limits(**{**beside, one.key: 2 * most + 1}))
    assert tried > 20


OUTSIDE = (
    ("model", "pio", "--buffers", "4097"),
    ("model", "pio", "--in-flight", "4097"),
    ("model", "pio", "--flushes", "1000001"),
    ("model", "engine", "nvme-gen4", "--depth", "65537"),
    ("model", "host", "--misses", "1048577"),
    ("model", "bandwidth", "--offset", "4294967296"),
    ("model", "bandwidth", "--device-rate", "2e18"),
    ("fabric", "simulate", "fabrex-u55c", "--flows", "latency", "--duration-us", "1000001"),
    ("fabric", "simulate", "fabrex-u55c", "--flows", "latency", "--warm-up-us", "1000001"),
    ("sweep", "none.toml", "-o", "none", "--jobs", "1025"),
    ("run", "-o", "none.db", "--seed", "9223372036854775808"),
)


@pytest.mark.parametrize("words", OUTSIDE, ids=lambda words: f"{words[0]} {words[-2]}")
def test_a_number_outside_the_range_is_refused(words: tuple[str, ...]) -> None:
    """One above the most that the refusal of what is no number names."""
    with pytest.raises(InputError, match=f"^{words[-2]}|^depth"):
        get_command(commands.app)(list(words), standalone_mode=False)


def test_every_option_with_decimals_has_a_unit() -> None:
    decimals = {one.opts[0] for one in OPTIONS.values() if type(one.type).__name__.startswith("Float")}
    assert {"--rtt-ns", "--line", "--duration-us"} < decimals
    assert all(unit_of(name) for name in decimals)


@pytest.mark.parametrize(
    ("words", "text", "value"),
    [
        ("model bandwidth --rtt-ns", "0.9us", 900.0),
        ("model bandwidth --gen", "gen4", 4),
        ("model bandwidth --gen", "32GT/s", 5),
        ("model bandwidth --lanes", "x16", 16),
        ("model bandwidth --mps", "4KiB", 4096),
        ("model bandwidth --completion-buffer", "4K", 4096),
        ("model bandwidth --posted-data", "1.5k", 1500),
        ("model bandwidth --device-rate", "15Mpps", 15.0),
        ("model bandwidth --offset", "0", 0),
        ("model nic --line", "100G", 100.0),
        ("model nic --line", "12.5GB/s", 100.0),
        ("model sizing --clock-ghz", "250MHz", 0.25),
        ("model host --offered", "7.5GB/s", 60.0),
        ("fabric run --duration-us", "1ms", 1000.0),
        ("doctor --watch", "500 ms", 0.5),
        ("run --transactions", "2M", 2_000_000),
        ("run --seed", "18446744073709551615", (1 << 64) - 1),
    ],
)
def test_an_option_reads_the_written_forms(words: str, text: str, value: float) -> None:
    assert OPTIONS[words].type.convert(text, OPTIONS[words], None) == value


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        ("model host --offered", "60G", "--offered: '60G': 'G' may be bytes or bits: give 60GB/s or 60Gb/s"),
        ("run --nics", "17", "--nics: '17' is out of range: give 1 to 16"),
        ("model pio --flushes", "-2", "--flushes: '-2' is not a whole number: give 0 to 1000000, for example 64"),
        ("model bandwidth --tags", "0", "--tags: '0' is out of range: give 1 to 4294967295"),
        (
            "model bandwidth --rtt-ns",
            "5 parsecs",
            "'parsecs' is not a unit of a time: give 1e-9 to 1e18 ns, or in one of ns, us, ms, s",
        ),
        ("model bandwidth --lanes", "-1", "--lanes: '-1' is not a link width: give 1, 2, 4, 8, 12, 16 or 32"),
        ("model bandwidth --mps", "nan", "--mps: 'nan' is not a size: give 128, 256, 512, 1024, 2048 or 4096"),
        ("model bandwidth --addr", "x", "--addr: 'x' is not a whole number: give 32 or 64"),
        ("model nic --line", "-1", "--line: '-1' is not a line rate: give 1 to 800 Gb/s, for example 100"),
        ("fabric run --duration-us", "nan", "--duration-us: 'nan' is not a time: give 0.001 to 1000000 us"),
        ("sweep --jobs", "1e9", "--jobs: '1e9' is not a whole number: give 0 to 1024"),
    ],
)
def test_a_refusal_gives_the_right_form(words: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        OPTIONS[words].type.convert(text, OPTIONS[words], None)
