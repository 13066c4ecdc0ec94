"""`pcielab run` without a store: one test and frames print, everything else needs a store."""

import csv
from pathlib import Path

import pytest

from shell import refuse, succeed


def test_one_test_prints_and_leaves_nothing(tmp_path: Path) -> None:
    done = succeed("run", "--test", "bw-rd", "--size", "64", "--transactions", "1000", cwd=tmp_path)
    assert "BW_DMA_RD" in done.stdout
    assert "bound: " in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_frames_print_their_rows() -> None:
    done = succeed("run", "--nic", "niantic-dpdk", "--frames", "64:256:x2", "--format", "csv")
    assert [row["frame_bytes"] for row in csv.DictReader(done.stdout.splitlines())] == ["64", "128", "256"]


@pytest.mark.parametrize(
    "arguments, remedy",
    [
        (["--suite", "quick"], "a suite prints no results: give -o RUN.db"),
        ([], "a suite prints no results: give -o RUN.db"),
        (["--test", "bw-rd", "--resume"], "--resume: continues a store: give -o RUN.db"),
    ],
)
def test_a_suite_and_a_continued_run_need_a_store(arguments: list[str], remedy: str) -> None:
    assert remedy in refuse("run", *arguments)
