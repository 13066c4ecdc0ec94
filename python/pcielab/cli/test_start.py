"""Modules that commands load at start: they delay every help, every Tab and every small question."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

import pcielab
from pcielab import fabric
from pcielab.cli.commands import COMMANDS, app

FRAMES = ["altair", "jinja2", "numpy", "pandas", "pyarrow", "scipy", "vl_convert"]
MODELS = ["pydantic"]
SPY = """
import contextlib, io, json, os, sys
from pcielab.cli import main
heavy, done = set(json.loads(sys.argv[1])), []
for words, environment in json.loads(sys.argv[2]):
    sys.argv = ["pcielab", *words]
    os.environ.update(environment)
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
        main()
    done.append([printed.getvalue(), sorted(heavy & sys.modules.keys())])
json.dump(done, sys.stdout)
"""
"""Runs commands one after the other in a fresh process."""


@dataclass(frozen=True)
class Seen:
    """A command's output, and the heavy modules loaded by it and the commands before it."""

    words: str
    printed: str
    loaded: list[str]


def spied(commands: list[tuple[list[str], dict[str, str]]], heavy: list[str]) -> list[Seen]:
    """Run commands, given as words and environment."""
    script = [sys.executable, "-c", SPY, json.dumps(heavy), json.dumps(commands)]
    done = subprocess.run(script, stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout)
    return [Seen(" ".join(words), *seen) for (words, _), seen in zip(commands, found, strict=True)]


def every_command() -> Iterator[list[str]]:
    """The words of every command and every group."""

    def below(group: Any, words: list[str]) -> Iterator[list[str]]:
        for name, command in getattr(group, "commands", {}).items():
            yield [*words, name]
            yield from below(command, [*words, name])

    root: Any = typer.main.get_command(app)
    for name in COMMANDS:
        _, command, _ = root.resolve_command(typer.Context(root), [name])
        yield [name]
        yield from below(command, [name])


def test_help_of_every_command_loads_no_heavy_module() -> None:
    commands = [["--version"], ["-h"], *([*words, "-h"] for words in every_command())]
    seen = spied([(words, {}) for words in commands], FRAMES + MODELS)
    assert len(seen) > 30
    assert [one for one in seen if one.loaded] == []
    assert all("Usage" in one.printed for one in seen[1:])


def test_tab_completes_and_loads_no_heavy_module() -> None:
    offers = {
        "pcielab cal": "calibrate",
        "pcielab export p": "parquet",
        "pcielab run --te": "--test",
        "pcielab run --test bw": "bw-rdwr",
        "pcielab run --path com": "command",
        "pcielab run --cache host": "host-warm",
        "pcielab run --pattern str": "strided",
        "pcielab run --suite kp": "kpio",
        "pcielab run --profile ib-011-n": "ib-011-nosp",
        "pcielab profiles show gen3": "gen3-x8-ecrc",
        "pcielab suites show rp": "rpciebench",
        "pcielab fabric estimate fab": "fabrex-u55c",
        "pcielab model nic nian": "niantic-dpdk",
        "pcielab run --set host.llc.dd": "host.llc.ddio_ways=",
        "pcielab profiles show snb --set link.ta": "link.tags=",
    }
    tabs = [
        {"_PCIELAB_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
        for typed in offers
    ]
    seen = spied([([], tab) for tab in tabs], FRAMES + MODELS)
    assert [one.loaded for one in seen] == [[]] * len(offers)
    assert {
        typed: offer
        for typed, offer, one in zip(offers, offers.values(), seen, strict=True)
        if offer not in one.printed.split()
    } == {}


def test_tab_completes_devices_and_their_options() -> None:
    offers = {
        "pcielab run --device cu": "cuda",
        "pcielab run --device n": "nvme:",
        "pcielab run --device cpu --set host.p": "host.page_bytes=",
        "pcielab run --device rtl --set link.ta": "link.tags=",
    }
    tabs = [
        {"_PCIELAB_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
        for typed in offers
    ]
    seen = spied([([], tab) for tab in tabs], FRAMES)
    assert [one.loaded for one in seen] == [[]] * len(offers)
    assert [one.printed.split().count(offer) for offer, one in zip(offers.values(), seen, strict=True)] == [1] * 4


def test_keys_of_set_are_those_of_the_model() -> None:
    from pcielab import _core
    from pcielab.library.profiles.parts import System
    from pcielab.library.profiles.values import known_keys

    keys = dict(_core.System.keys())
    assert sorted(keys) == sorted(known_keys(System))
    assert keys["link.mps_bytes"] == "Maximum payload size (MPS)"


def test_small_questions_load_no_data_frames() -> None:
    questions = [
        ["model", "bandwidth", "--format", "csv"],
        ["model", "nic", "niantic-dpdk", "--format", "csv"],
        ["model", "pio", "--format", "csv"],
        ["why", "--nic", "niantic-dpdk", "--format", "csv"],
        ["normal", "--what", "h2d", "--link", "gen5x16", "--value", "54.1GB/s", "--engine", "copy"],
        ["explain", "--format", "csv"],
        ["fabric", "estimate", "fabrex-u55c"],
        ["fabric", "estimate", "fabrex-u55c", "--method", "ecr", "--edges", "--format", "csv"],
        ["fabric", "estimate", "fabrex-u55c", "--flows", "latency", "--format", "json"],
        ["profiles", "list", "--format", "csv"],
        ["profiles", "show", "hsw2620", "--format", "csv"],
        ["suites", "show", "quick", "--format", "csv"],
        ["devices", "list", "--format", "csv"],
    ]
    seen = spied([(words, {}) for words in questions], FRAMES)
    assert all(one.printed for one in seen)
    assert [one for one in seen if one.loaded] == []


def test_runs_their_lists_and_comparisons_load_no_data_frames(tmp_path: Path) -> None:
    run, flows = str(tmp_path / "run.db"), str(tmp_path / "flows.db")
    testbed = fabric.load("fabrex-u55c")
    points = fabric.flow_set(testbed.flows("latency"), "latency", "fifo", 20.0)
    pcielab.run(fabric.Flows(testbed, points, "latency"), output=flows)
    questions = [["run", "--family", "bw_dma_sz_sweep", "-o", run], ["runs", str(tmp_path)]]
    for store in (run, flows):
        for form in ("table", "csv", "json"):
            questions += [["compare", store, store, "--format", form]]
        questions += [["compare", store, store, "--summary"], ["compare", store, store, "--fail-above", "2%"]]
    seen = spied([(words, {}) for words in questions], FRAMES)
    assert "transfers" in seen[1].printed
    assert all(("BW_DMA_RD" if run in one.words else "latency") in one.printed for one in seen[2:])
    assert [one for one in seen if one.loaded] == []


def test_single_tests_and_explanations_load_no_tables(tmp_path: Path) -> None:
    run = str(tmp_path / "run.db")
    questions = [
        ["run", "--test", "lat-rd", "--size", "64", "--transactions", "1000"],
        ["run", "--test", "bw-rd", "--size", "64", "--transactions", "1000", "-o", run],
        ["explain", run],
        ["explain", run, "--format", "csv"],
        ["why", run],
    ]
    seen = spied([(words, {}) for words in questions], ["altair", "jinja2", "pandas", "pyarrow", "vl_convert"])
    assert all(one.printed for one in seen)
    assert [one for one in seen if one.loaded] == []


def test_lists_and_wire_bounds_load_no_profile_models() -> None:
    seen = spied(
        [(["profiles", "list"], {}), (["suites", "show", "-h"], {}), (["model", "bandwidth"], {})],
        ["pcielab.library.profiles.parts", "pcielab.library.suites.load", "pcielab.library.nics"],
    )
    assert all(one.printed for one in seen)
    assert [one for one in seen if one.loaded] == []


def test_little_is_loaded_before_ctrl_c_is_handled() -> None:
    script = "import sys; there = {*sys.modules}; import pcielab.cli; print(*sorted({*sys.modules} - there))"
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.split() == ["pcielab", "pcielab.cli", "pcielab.on_demand"]
