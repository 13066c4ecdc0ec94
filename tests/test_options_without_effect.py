"""An option that would have no effect is refused, with a remedy, before anything runs."""

from pathlib import Path

import pytest

from pcielab import InputError, fabric
from shell import refuse, succeed

FABREX = ("fabric", "run", "fabrex-u55c", "-o", "run.db")
RPCIEBENCH = (*FABREX, "--suite", "rpciebench")
ESTIMATE = ("fabric", "estimate", "fabrex-u55c")


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ((*FABREX, "--flows", "table2", "--trace"), "--trace: all flows of table2 are streams"),
        ((*RPCIEBENCH, "--discipline", "fifo"), "--discipline: set discipline of the suite's experiments"),
        ((*RPCIEBENCH, "--duration-us", "9"), "--duration-us: set duration_us of the suite's experiments"),
        ((*ESTIMATE, "--discipline", "fifo"), "--discipline: describes a simulation: give --standalone simulated"),
        ((*ESTIMATE, "--duration-us", "9"), "--duration-us: describes a simulation"),
        ((*ESTIMATE, "--warm-up", "9"), "--warm-up-us: describes a simulation"),
        ((*ESTIMATE, "--method", "ecr", "--rounds", "--edges"), "--edges: --rounds prints edges of its own"),
        (("fabric", "explain", "fabrex-u55c", "--theme", "dark"), "--theme: describes a picture: give -o FILE"),
        (("explain", "--gen", "3", "-o", "why.svg"), "--output: describes a picture of two runs"),
        (
            ("report", "run.db", "--figure-format", "png"),
            "--figure-format: describes files of figures: give --figures",
        ),
        (("run", "--suite", "quick", "-o", "run.db", "--format", "csv"), "--format: a suite prints no rows"),
        (("trace", "play", "dma.trace", "--window", "64K"), "--window: cold caches hold no window"),
    ],
)
def test_options_without_effect_are_refused(command: tuple[str, ...], remedy: str, tmp_path: Path) -> None:
    assert remedy in refuse(*command, cwd=tmp_path)
    assert not [*tmp_path.iterdir()]


def test_the_remedy_of_a_run_without_traced_requests_works(tmp_path: Path) -> None:
    streams, traced = tmp_path / "streams.db", tmp_path / "traced.db"
    succeed("fabric", "run", "fabrex-u55c", "--flows", "table2", "--duration-us", "9", "-o", streams)
    refused = refuse("export", "requests", streams, "-o", tmp_path / "streams.csv")
    assert "--trace" not in refused
    assert "run flows with another primitive (h2d, d2h, ...)" in refused
    (tmp_path / "flows.csv").write_text("name,source,destination,primitive\nF1,host1,A,h2d\n", encoding="utf-8")
    run = ("fabric", "run", "fabrex-u55c", "--flows", tmp_path / "flows.csv")
    succeed(*run, "--duration-us", "9", "-o", tmp_path / "untraced.db")
    assert "fabric run --trace" in refuse(
        "export", "requests", tmp_path / "untraced.db", "-o", tmp_path / "no.csv"
    )
    succeed(*run, "--duration-us", "9", "--trace", "-o", traced)
    succeed("export", "requests", traced, "-o", tmp_path / "traced.csv")
    assert (tmp_path / "traced.csv").read_text(encoding="utf-8").count("F1") > 1


def test_a_trace_without_a_finished_request_says_so(tmp_path: Path) -> None:
    flows = "name,source,destination,primitive,size_bytes\nF1,host1,A,h2d,1048576\n"
    (tmp_path / "flows.csv").write_text(flows, encoding="utf-8")
    options = ("--warm-up-us", "0", "--duration-us", "1", "--trace", "-o", tmp_path / "short.db")
    succeed("fabric", "run", "fabrex-u55c", "--flows", tmp_path / "flows.csv", *options)
    refused = refuse("export", "requests", tmp_path / "short.db", "-o", tmp_path / "short.csv")
    assert "no request finished: lengthen --duration-us" in refused
    assert "--trace" not in refused


def test_a_suite_of_a_fabric_prints_its_flows_in_a_format_that_is_given(tmp_path: Path) -> None:
    text = """
name = "one"
title = "One flow"
fabric = "fabrex-u55c"

[provenance]
source = "Invented for a test"

[[experiment]]
family = "alone"
series = "read"
duration_us = 9.0
flows = [{ name = "F1", source = "host1", destination = "A", primitive = "h2d" }]
"""
    (tmp_path / "one.toml").write_text(text, encoding="utf-8")
    suite = (
        "fabric",
        "run",
        "fabrex-u55c",
        "--suite",
        tmp_path / "one.toml",
        "--overwrite",
        "-o",
        tmp_path / "run.db",
    )
    head, row = succeed(*suite, "--format", "csv").stdout.splitlines()
    assert head.startswith("id,family,experiment")
    assert row.startswith("0,alone,read")
    assert not succeed(*suite).stdout


def test_programs_are_refused_a_trace_of_streams() -> None:
    chosen = fabric.load("fabrex-u55c")
    points = fabric.flow_set(chosen.flows("table2"), "table2", "per-flow", 9.0)
    with pytest.raises(InputError, match="give the flows a primitive"):
        fabric.Flows(chosen, points, "table2", trace=True)
