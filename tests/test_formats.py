"""Every command with --format, on every kind of store: whole and readable, or a clear refusal.

Commands on stores take the formats in turn, so that each command prints all of them, and each kind of store is
printed in all of them; `make test-slow` tries every combination. A refusal has exit code 2, nothing on stdout and
a remedy on stderr. JSON is strict: no NaN, nothing after it.
"""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from pcielab._core import StoreWriter
from pcielab.cli.commands import COMMANDS, app
from pcielab.conftest import BANDWIDTH, CDF, DETAILS, write
from pcielab.formats.published import BANDWIDTH_HEAD, LATENCY_HEAD
from shell import Done, pcielab, succeed
from suite_texts import DESIGN

SMALL = Path(__file__).parent / "documents" / "small"
SAMPLES = Path(__file__).parent / "tool_outputs"
LISTING = Path(__file__).parents[1] / "crates" / "pcie-transactions" / "tests" / "fixtures" / "kpio-figure-6.txt"
TOOLS = {"nvbandwidth": "0.5-one-gpu.txt", "perftest": "read-bw-all-sizes.txt", "fio": "3.36-mixed.json"}
FORMATS = ("json", "csv", "table")
KINDS = (
    *("transfers", "latency", "frames", "messages", "mux", "flows", "traced", "memory"),
    *("core", "imported", "netfpga", "emulated", "nvbandwidth", "perftest", "fio"),
)
OF_ONE = (
    ["explain", "{run}"],
    ["explain", "{run}", "{run}"],
    ["why", "{run}"],
    ["why", "{run}", "{run}"],
    ["doctor", "{run}"],
    ["normal", "{run}"],
    ["compare", "{run}", "{run}"],
    ["compare", "{run}", "{run}", "--summary"],
    ["paper", "findings", "{run}"],
    ["paper", "numbers", "{run}"],
)
"""Commands on one store."""
OF_TWO = (["explain", "{run}", "{other}"], ["why", "{run}", "{other}"], ["compare", "{run}", "{other}"])
PAIRS = (
    *(("transfers", "changed"), ("frames", "frames-changed"), ("messages", "messages-changed")),
    *(("flows", "traced"), ("core", "transfers"), ("imported", "transfers"), ("transfers", "frames")),
    *(("mux", "messages"), ("latency", "transfers"), ("emulated", "transfers"), ("netfpga", "transfers")),
    *(("nvbandwidth", "transfers"), ("perftest", "fio"), ("nvbandwidth", "nvbandwidth-linked")),
    *(("memory", "memory-changed"), ("memory", "frames")),
)
WITHOUT_STORES = (
    ["model", "pio"],
    ["model", "pio", "--show", "steps"],
    ["model", "pio", "--show", "crossings"],
    ["model", "bandwidth", "--sizes", "64,1500"],
    ["model", "nic", "niantic-dpdk"],
    ["model", "sizing", "--latency-ns", "900"],
    ["model", "engine", "gpu"],
    ["model", "cxl", "--reads", "1", "--loads", "0.5"],
    ["model", "host", "--load", "0,3"],
    ["model", "mmio", "--sizes", "64,4K", "--gen", "4"],
    ["explain"],
    ["explain", "--nic", "niantic-kernel"],
    ["why", "--nic", "connectx-6-dx", "--measured", "60"],
    ["why", "--test", "bw-rd", "--size", "64", "--measured", "20"],
    ["why", "--test", "mem-rd", "--reads", "67%", "--measured", "25GB/s"],
    ["why", "fabrex-u55c", "--flows", "table2"],
    ["why", "--mmio", "uncached-load", "--size", "4"],
    ["normal", "--what", "h2d", "--link", "gen5x16", "--value", "54.1GB/s", "--engine", "copy"],
    ["normal", "--what", "read", "--value", "26GB/s", "--device", "CXL memory expander", "--link", "gen5x8"],
    ["normal", "--what", "load", "--size", "4", "--link", "gen4x16", "--value", "900ns"],
    ["normal", "--what", "d2h", "--link", "gen4x16", "--value", "90Gb/s", "--engine", "dma", "--figures"],
    ["tlp", "explain", str(LISTING)],
    ["tlp", "list", str(LISTING)],
    ["runs", "."],
    ["expect", "rome2s-8x4090", "--ask", "p2p-write gpu0>gpu4"],
    ["expect", "x520-gen2x4", "--published"],
    ["profiles", "list"],
    ["profiles", "show", "hsw2620"],
    ["profiles", "show", "fabrex-u55c"],
    ["profiles", "show", "niantic-dpdk"],
    ["suites", "list"],
    ["suites", "show", "quick"],
    ["suites", "show", "kpio-mux"],
    ["suites", "show", "rpciebench"],
    ["devices", "list"],
    ["devices", "show", "cpu"],
    ["devices", "show", "sim"],
    ["fabric", "list"],
    ["fabric", "estimate", "fabrex-u55c"],
    ["fabric", "explain", "fabrex-u55c"],
    ["fabric", "explain", "fabrex-u55c", "--flow", "A->C:2GB/s"],
    ["fabric", "paths", "fabrex-u55c", "A", "C"],
    ["fabric", "simulate", "fabrex-u55c", "--flows", "latency", "--duration-us", "20"],
    ["run", "--test", "bw-rd", "--size", "64", "-o", "{new}"],
    ["run", "--test", "mem-rd", "--loads", "0.5", "--lines", "1000", "-o", "{new}"],
    ["model", "cxl", "--interleave", "1,2", "--local", "8x4800"],
    ["run", "--nic", "simple-nic", "--frames", "64", "-o", "{new}"],
    ["fabric", "run", "fabrex-u55c", "--flows", "latency", "--duration-us", "20", "-o", "{new}"],
    ["sweep", "spec.toml", "-o", "{new}"],
    ["design", "design.toml", "--no-corners"],
    ["trace", "play", "dma.trace"],
)
ELSEWHERE = {
    *(("calibrate",), ("validate",), ("suites", "validate"), ("fabric", "validate")),
    ("devices", "bind"),
}
"""They simulate for minutes, with tests of their own, or are former names of `paper numbers`. `devices bind` needs
a device: `cli/test_devices.py` tries its formats."""
SPEC = """\
name = "windows"
title = "Reads over windows"
system = "hsw2620"

[test]
test = "lat-rd"

[grid]
window = ["64K", "1M"]
"""


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small store of each kind."""
    folder = tmp_path_factory.mktemp("formats")

    def run(name: str, *words: str | Path) -> None:
        succeed(*words, "-o", f"{name}.db", cwd=folder)

    quick, kpio = SMALL / "quick.toml", SMALL / "messages" / "kpio.toml"
    nic = ("--profile", "snb", "--frames", "512")
    run("transfers", "run", "--suite", quick)
    run("changed", "run", "--suite", quick, "--set", "link.tags=256")
    run("latency", "run", "--test", "lat-rd")
    run("frames", "run", "--nic", "niantic-dpdk", *nic)
    run("frames-changed", "run", "--nic", "simple-nic", *nic)
    lines = ("--test", "mem-rd", "--reads", "67%", "--lines", "1000")
    run("memory", "run", *lines)
    run("memory-changed", "run", *lines, "--set", "expander.link.ide_flits=5")
    run("messages", "run", "--suite", kpio)
    run("messages-changed", "run", "--suite", kpio, "--set", "host.root_complex.read_ns=2000")
    run("mux", "run", "--suite", "kpio-mux")
    run("flows", "fabric", "run", "fabrex-u55c", "--suite", SMALL / "fabric" / "rpciebench.toml")
    run("traced", "fabric", "run", "fabrex-u55c", "--flows", "latency", "--duration-us", "20", "--trace")
    run("core", "run", "--device", "cpu", "--suite", SMALL / "cpu.toml", "--set", "host.cold=flush")
    run("imported", "import", "pcie-bench", _published(folder))
    run("counted", "run", "--profile", "netfpga-hsw", "--test", "bw-rd")
    succeed("export", "netfpga", "counted.db", "-o", "raw.txt", cwd=folder)
    run("netfpga", "import", "netfpga", "raw.txt")
    for tool, sample in TOOLS.items():
        run(tool, "import", tool, SAMPLES / tool / sample)
    linked = ("--link", "gen5x16", "--mps", "256", "--mrrs", "512")
    run("nvbandwidth-linked", "import", "nvbandwidth", SAMPLES / "nvbandwidth" / TOOLS["nvbandwidth"], *linked)
    _emulated(folder)
    (folder / "spec.toml").write_text(SPEC)
    (folder / "design.toml").write_text(DESIGN)
    (folder / "dma.trace").write_text("# pcielab trace 1\n0 read 0 64\n0 write 64 256\n")
    return folder


def _published(folder: Path) -> Path:
    """A folder in the published format."""
    directory = folder / "nfp6000-1.2GHz_small"
    directory.mkdir()
    write(directory / "bw_dma_sz_sweep.csv", ",".join(BANDWIDTH_HEAD) + "\n" + BANDWIDTH)
    write(directory / "lat_cmd_details.csv", ",".join(LATENCY_HEAD) + "\n" + DETAILS)
    write(directory / "lat_cmd_details_cdf.csv", CDF)
    return directory


def _emulated(folder: Path) -> None:
    """The run of transfers as if an emulator had made it."""
    from pcielab import open_store

    run = open_store(folder / "transfers.db")
    with StoreWriter.create(folder / "emulated.db", json.dumps(run.manifest | {"origin": "emulated"})) as store:
        for record in run.records():
            store.write_test(json.dumps(record | {"parameters": json.dumps(record["parameters"])}))


def check(done: Done, form: str, words: object) -> None:
    """Fail unless the output is whole, or refused with a remedy."""
    assert done.exit_code in (0, 2), (words, done.stderr)
    assert "Traceback" not in done.stderr, (words, done.stderr)
    assert "Warning" not in done.stderr, (words, done.stderr)
    if done.exit_code == 2:
        assert done.stdout == "", words
        assert any(line.startswith("error: ") for line in done.stderr.splitlines()), (words, done.stderr)
        assert "unknown field" not in done.stderr, (words, done.stderr)
    elif form == "json":
        json.loads(done.stdout, parse_constant=_no_constant)
    elif form == "csv":
        widths = {len(row) for row in csv.reader(io.StringIO(done.stdout))}
        assert len(widths) <= 1, words
    else:
        assert done.stdout or done.stderr, words


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def try_formats(words: list[str], formats: Sequence[str], folder: Path) -> None:
    """Check a command's formats; what is refused in one is refused before it is printed."""
    for form in formats:
        done = pcielab(*words, "--format", form, cwd=folder)
        check(done, form, words)
        if done.exit_code == 2:
            return


IN_TURN = pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.slow)])


def formats(command: int, stores: int, *, is_whole: bool) -> Sequence[str]:
    """All formats, or the one whose turn it is for the command and the stores with these numbers."""
    return FORMATS if is_whole else [FORMATS[(command + stores) % len(FORMATS)]]


@IN_TURN
@pytest.mark.parametrize("kind", KINDS)
def test_every_command_on_a_store_prints_its_formats(kind: str, is_whole: bool, stores: Path) -> None:
    for number, command in enumerate(OF_ONE):
        chosen = formats(number, KINDS.index(kind), is_whole=is_whole)
        try_formats([word.format(run=f"{kind}.db") for word in command], chosen, stores)


@IN_TURN
@pytest.mark.parametrize(("run", "other"), PAIRS)
def test_every_command_on_two_stores_prints_its_formats(
    run: str, other: str, is_whole: bool, stores: Path
) -> None:
    for number, command in enumerate(OF_TWO):
        chosen = formats(number, PAIRS.index((run, other)), is_whole=is_whole)
        try_formats([word.format(run=f"{run}.db", other=f"{other}.db") for word in command], chosen, stores)


@pytest.mark.parametrize("command", WITHOUT_STORES, ids=" ".join)
def test_every_other_command_prints_every_format(command: list[str], stores: Path, tmp_path: Path) -> None:
    for form in FORMATS:
        words = [word.format(new=tmp_path / form) for word in command]
        done = pcielab(*words, "--format", form, cwd=stores)
        assert done.exit_code == 0, (words, done.stderr)
        check(done, form, words)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_explained(kind: str, stores: Path) -> None:
    rows = json.loads(succeed("explain", f"{kind}.db", "--format", "json", cwd=stores).stdout)
    assert rows
    assert len({tuple(row) for row in rows}) == 1, "all rows have the same keys"


@pytest.mark.parametrize(
    ("run", "other"), [*PAIRS[:3], ("core", "core"), ("mux", "mux"), ("imported", "imported")]
)
def test_two_runs_of_every_kind_are_contrasted(run: str, other: str, stores: Path) -> None:
    words = ("explain", f"{run}.db", f"{other}.db")
    rows = json.loads(succeed(*words, "--format", "json", cwd=stores).stdout)
    assert rows
    assert {"test", "a", "b", "change_percent", "key", "effect_percent"} <= set(rows[0])
    first_line = succeed(*words, cwd=stores).stdout.splitlines()[0]
    assert first_line.endswith(".")
    assert ": " in first_line


def _commands_with_formats() -> Iterator[tuple[str, ...]]:
    root: Any = typer.main.get_command(app)

    def below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if any("--format" in option.opts for option in command.params):
            yield words
        for name, inner in getattr(command, "commands", {}).items():
            yield from below(inner, (*words, name))

    for name in COMMANDS:
        _, command, _ = root.resolve_command(typer.Context(root), [name])
        yield from below(command, (name,))


def test_no_command_with_a_format_is_left_out() -> None:
    tried = [*OF_ONE, *OF_TWO, *WITHOUT_STORES]
    found = set(_commands_with_formats())
    assert len(found) > 20
    assert {
        words for words in found - ELSEWHERE if not any(tuple(one[: len(words)]) == words for one in tried)
    } == set()
