"""`pcielab expect`: its formats, the gate on outputs of tools, thresholds that run in a shell, and refusals."""

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest

from shell import pcielab, succeed

SAMPLES = Path(__file__).parent / "tool_outputs"
LSPCI = Path(__file__).parent / "lspci_texts"
SLOW = """
Running device_to_host_memcpy_ce.
memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0     {value}     {value}

SUM device_to_host_memcpy_ce {sum}
"""


@pytest.mark.parametrize("output_format", ["json", "csv", "table", "markdown"])
def test_every_format_has_every_question(output_format: str) -> None:
    done = succeed("expect", "rome2s-8x4090", "--ask", "p2p-write gpu0>gpu4", "--format", output_format)
    if output_format == "json":
        [row] = json.loads(done.stdout)
    elif output_format == "csv":
        [row] = csv.DictReader(io.StringIO(done.stdout))
    else:
        assert "gpu0>gpu4" in done.stdout
        return
    assert row["question"] == "p2p-write gpu0>gpu4"
    assert float(row["lower"]) < float(row["upper"]) <= float(row["bound"])
    assert "root complex" in row["limit"]
    assert "B11-5" in row["rows"].split()


def test_lspci_gives_a_table_of_all_devices() -> None:
    done = succeed("expect", LSPCI / "epyc-9354-genoa.txt", "--format", "json")
    rows = {row["question"]: row for row in json.loads(done.stdout)}
    assert rows["h2d nic0"]["upper"] <= 50
    assert rows["h2d nic0"]["limit"].startswith("line of nic0 (400 Gb/s)")


def slow_output(folder: Path, value: float) -> Path:
    """An output of nvbandwidth of two GPUs that write to the host's memory at that rate, GB/s."""
    text = (SAMPLES / "nvbandwidth" / "0.3-two-gpus.txt").read_text()
    head = text[: text.index("Running ")]
    file = folder / "nvbandwidth.txt"
    file.write_text(head + SLOW.format(value=f"{value:.2f}", sum=f"{2 * value:.2f}").lstrip())
    return file


def test_the_gate_names_the_edge_of_a_low_value(tmp_path: Path) -> None:
    low = pcielab("expect", "rome2s-8x4090", "--check", str(slow_output(tmp_path, 6.2)))
    assert low.exit_code == 1
    assert "low: d2h gpu0: 6.20 GB/s" in low.stderr
    assert "link of gpu0 (Gen4 x16), upwards" in low.stderr
    right = pcielab("expect", "rome2s-8x4090", "--check", str(slow_output(tmp_path, 26.2)))
    assert right.exit_code == 0


@pytest.mark.parametrize(
    ("machine", "output", "question"),
    [
        ("mi350x-8x", "nvbandwidth/0.6-two-gpus.txt", "d2h gpu0,gpu1"),
        ("rome2s-8x4090", "nccl-tests/2.13-all-reduce.txt", "ring gpu0"),
        ("amd-gpu-cx5", "perftest/write-bw.txt", "h2d nic0"),
        ("rome2s-8x4090", "p2pBandwidthLatencyTest/three-gpus.txt", "p2p-write gpu0>gpu1"),
    ],
)
def test_outputs_of_tools_answer_questions(machine: str, output: str, question: str) -> None:
    done = pcielab("expect", machine, "--check", str(SAMPLES / output), "--format", "json")
    assert done.exit_code in (0, 1)
    assert any(row["question"].startswith(question) for row in json.loads(done.stdout))


def test_an_output_without_a_question_is_refused() -> None:
    done = pcielab("expect", "rome2s-8x4090", "--check", str(SAMPLES / "mlc" / "3.11-all.txt"))
    assert done.exit_code == 2
    assert "nothing in it answers a question" in done.stderr


def test_shell_thresholds_end_with_1_for_a_low_value(tmp_path: Path) -> None:
    script = tmp_path / "gate.sh"
    script.write_text(succeed("expect", "rome2s-8x4090", "--thresholds", "shell").stdout)
    right = subprocess.run(["sh", script], input="h2d gpu0\t26.0\n", text=True, capture_output=True, check=False)
    assert (right.returncode, right.stdout) == (0, "")
    low = subprocess.run(["sh", script], input="h2d gpu0\t6.1\n", text=True, capture_output=True, check=False)
    assert low.returncode == 1
    assert "link of gpu0 (Gen4 x16), downwards" in low.stdout


@pytest.mark.parametrize("form", ["prometheus", "yaml"])
def test_thresholds_are_yaml(form: str) -> None:
    yaml = pytest.importorskip("yaml")
    content = yaml.safe_load(succeed("expect", "rome2s-8x4090", "--thresholds", form).stdout)
    if form == "yaml":
        row = next(one for one in content["thresholds"] if one["question"] == "h2d gpu0")
        assert 0 < row["at_least_gbytes_per_s"] < row["at_most_gbytes_per_s"]
        assert row["edge"].startswith("link of gpu0")
    else:
        rules = content["groups"][0]["rules"]
        assert any('question="h2d gpu0"' in rule["expr"] and " < " in rule["expr"] for rule in rules)
        assert len({rule["alert"] for rule in rules}) == len(rules)


def test_published_rows_stand_beside_what_is_expected_without_their_site() -> None:
    rows = json.loads(succeed("expect", "rome2s-8x4090", "--published", "--format", "json").stdout)
    inside = [row for row in rows if row["verdict"] == "inside"]
    assert all(row["lower"] <= row["published"] <= row["upper"] for row in inside)
    assert len(inside) >= 0.7 * len(rows)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such-box"], "no-such-box"),
        (["rome2s-8x4090", "--processor", "abacus"], "no known family"),
        (["rome2s-8x4090", "--ask", "h2d gpu0", "--thresholds", "yaml"], "exclude each other"),
        (["rome2s-8x4090", "--ask", "h2d gpu0..99"], "no device"),
        (["rome2s-8x4091", "--published"], "no published box"),
    ],
)
def test_refusals(arguments: list[str], words: str) -> None:
    done = pcielab("expect", *arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert words in done.stderr
