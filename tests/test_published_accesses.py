"""Published loads, stores and doorbells against their predictions (`docs/reference/loads-and-stores.md`)."""

import csv
import json
from statistics import median
from typing import get_args

import pytest

from pcielab import model
from pcielab.analysis.normal.access import STEPS as NAMED
from pcielab.analysis.normal.published import Prediction, median_spread, predictions
from pcielab.analysis.why.access import STEPS as REASONS
from pcielab.library.cores import PRESENT_DAY, bar_for, core_for, load_bar, load_core, shipped_bars, shipped_cores
from pcielab.library.figure_words import INSTRUCTIONS
from pcielab.library.published_accesses import published_accesses
from pcielab.model.answers import AccessBound, Instruction
from shell import refuse, succeed

FOUND = predictions()


def rows(*arguments: str) -> list[dict[str, str]]:
    return list(csv.DictReader(succeed(*arguments, "--format", "csv").stdout.splitlines()))


def test_every_instruction_and_every_bound_has_its_words() -> None:
    assert tuple(INSTRUCTIONS) == get_args(Instruction)
    assert REASONS.keys() == NAMED.keys() == set(get_args(AccessBound))


@pytest.mark.parametrize("found", FOUND, ids=lambda found: found.row.id)
def test_a_published_access_is_within_15_percent_or_inside_its_interval(found: Prediction) -> None:
    assert found.holds, f"{found.usual} ({found.least} to {found.most}) for {found.row.value} {found.row.unit}"


def test_intervals_are_narrow_and_two_thirds_of_the_usual_values_near() -> None:
    assert len(FOUND) >= 70
    assert median_spread(FOUND) <= 2
    assert sum(abs(found.error) <= 0.15 for found in FOUND) / len(FOUND) > 0.65
    assert median(abs(found.error) for found in FOUND) < 0.1


def test_rows_are_of_medium_or_high_confidence_with_a_source() -> None:
    for row in published_accesses():
        assert row.confidence in ("medium", "high")
        assert row.source_key
        assert row.source_title
        assert row.value > 0
    assert len({row.id for row in published_accesses()}) == len(published_accesses())


@pytest.mark.parametrize(
    ("processor", "generation", "core"),
    [
        ("Xeon Platinum 8168", 3, "skylake-2017"),
        ("Intel(R) Xeon(R) Gold 6250 CPU @ 3.90GHz", 3, "skylake-2017"),
        ("Xeon E5-2686 v4", 3, "ivy-bridge-2013"),
        ("Xeon Platinum 8362 (Ice Lake)", 4, "ice-lake-2021"),
        ("Xeon Platinum 8480", 5, "sapphire-rapids-2023"),
        ("AMD EPYC 7742 64-Core Processor", 4, "zen2-2019"),
        ("AMD EPYC 7763", 4, "zen3-2021"),
        ("EPYC 9654", 5, "zen4-2022"),
        ("EPYC 9755", 5, "zen5-2024"),
        ("Ampere Altra", 4, "neoverse-n1-2019"),
        ("GH200 Grace Hopper", 5, "grace-2023"),
        ("Core i5-2400S", 2, "sandy-bridge-2011"),
        ("", 3, PRESENT_DAY[3]),
        (None, 6, PRESENT_DAY[5]),
        ("somebody's", 1, PRESENT_DAY[3]),
    ],
)
def test_a_processor_has_the_core_of_its_name(processor: str | None, generation: int, core: str) -> None:
    assert core_for(processor, generation) == core


def test_a_device_has_the_bar_of_its_name() -> None:
    for device, bar in (
        ("Tesla V100-SXM2-32GB", "gpu"),
        ("ConnectX-6", "nic"),
        ("low-latency NIC", "low-latency-nic"),
        ("Alveo U55C", "fpga"),
        ("Tenstorrent p150a", "blackhole"),
        ("something", "gpu"),
    ):
        assert bar_for(device) == bar


def test_every_core_and_bar_says_where_each_value_comes_from() -> None:
    for name in shipped_cores():
        core = load_core(name)
        for key in ("buffers", "release_ns", "uncached_ns", "fence_ns"):
            assert core.provenance.keys[f"stores.{key}"], name
        assert core.provenance.keys["loads.host_ns"]
    for name in shipped_bars():
        assert load_bar(name).provenance.keys


def test_normal_judges_loads_stores_and_doorbells() -> None:
    def verdict(*asked: str) -> str:
        answer = json.loads(succeed("normal", *asked, "--format", "json").stdout)
        return str(answer["verdict"])

    load = ("--what", "load", "--size", "4", "--memory-type", "uc", "--link", "gen5x16")
    assert verdict(*load, "--value", "900ns") == "normal"
    assert verdict(*load, "--value", "5us") == "low"
    assert verdict(*load, "--value", "100ns") == "high"
    store = ("--what", "store", "--memory-type", "wc", "--link", "gen3x16")
    assert verdict(*store, "--value", "9.6GB/s") == "normal"
    assert verdict(*store, "--value", "300MB/s") == "low"
    assert verdict("--what", "doorbell", "--size", "4", "--link", "gen4x16", "--value", "110ns") == "normal"
    said = refuse("normal", "--what", "h2d", "--value", "5GB/s", "--memory-type", "uc")
    assert "--memory-type: h2d has none" in said


def test_the_command_names_core_and_bar_and_simulates() -> None:
    asked = ("--instruction", "combined-store", "--sizes", "64K", "--simulate")
    assert "sapphire" in succeed("model", "mmio", *asked).stdout.splitlines()[0].lower()
    [row] = rows("model", "mmio", *asked)
    assert float(row["simulated_gbytes_per_s"]) == pytest.approx(float(row["gbytes_per_s"]), rel=0.02)
    assert "--core and --cpu name the same" in refuse("model", "mmio", "--core", "zen4-2022", "--cpu", "EPYC")
    assert "has no store of 64 B in one piece" in refuse(
        "model", "mmio", "--core", "skylake-2017", "--instruction", "direct-store"
    )


@pytest.mark.parametrize("generation", [3, 4, 5])
def test_model_pio_names_a_present_day_core_first(generation: int) -> None:
    done = succeed("model", "pio", "--gen", str(generation), "--lanes", "16", "--messages", "64")
    core = PRESENT_DAY[generation]
    assert core in done.stderr.splitlines()[0]
    assert core in done.stdout.splitlines()[0]


def test_a_copy_by_stores_reaches_the_published_rate_of_each_generation() -> None:
    rates = {}
    for generation in (3, 4, 5):
        link = model.Link(generation=generation, lanes=16, mps_bytes=256, mrrs_bytes=512)
        profile = model.load_message_profile(PRESENT_DAY[generation])
        [answer] = model.messages(profile, [64 << 10], link=link)
        rates[generation] = answer.write_combined.bandwidth.gbps / 8
    assert 9 < rates[3] < 12
    assert 18 < rates[4] < 22
    assert 20 < rates[5] < 25
