"""Tests, families and panels have titles in words, with sizes in KiB and MiB."""

from collections.abc import Hashable

import pandas as pd

from pcielab.report.titles import family_title, panel_titles, test_title as title_of_test, value_title

SWEEP = pd.DataFrame(
    {
        "family": "lat_cmd_sweep_rd_rnd_08", "name": "LAT_CMD_RD", "operation": "lat-rd", "path": "command",
        "size_bytes": 8, "cache": ["cold", "cold", "host-warm", "host-warm"],
        "window_bytes": [1024, 67108864, 1024, 67108864], "host_offset_bytes": 0, "device_offset_bytes": 0,
    }
)  # fmt: skip


def test_a_family_says_what_it_tests_and_over_what() -> None:
    assert family_title(SWEEP, "window_bytes") == "Command read latency over windows of 1 KiB to 64 MiB, 8 B"


def test_operations_of_a_family_share_path_and_metric() -> None:
    tests = pd.DataFrame(
        {
            "name": ["BW_DMA_RD", "BW_DMA_WR"],
            "operation": ["bw-rd", "bw-wr"],
            "path": "dma",
            "size_bytes": [64, 65],
        }
    )
    assert family_title(tests, "size_bytes") == "DMA read and write bandwidth over transfer sizes of 64 B to 65 B"


def test_a_test_has_its_parameters_in_words() -> None:
    rows = SWEEP.assign(host_offset_bytes=8).to_dict("records")
    assert title_of_test(rows[1]) == "command read latency, 8 B, window 64 MiB, cold, host offset 8 B"


def test_a_panel_has_the_varying_parameters() -> None:
    assert panel_titles(SWEEP, ["cache", "window_bytes"])[1] == "cold, window 64 MiB"


def test_an_unknown_test_keeps_its_name() -> None:
    assert title_of_test({"name": "MINE", "size_bytes": float(1 << 20)}) == "MINE, 1 MiB"


def test_tests_with_the_same_words_keep_their_names_apart() -> None:
    rows = pd.DataFrame({"name": ["ONE", "TWO"], "operation": "bw-rd", "path": "dma"})
    assert panel_titles(rows, ["name"]) == ["ONE", "TWO"]


def test_a_message_says_how_it_is_sent() -> None:
    row: dict[Hashable, object] = {
        "name": "WC_STREAM",
        "way": "write-combined",
        "pace": "stream",
        "size_bytes": 1500,
        "cores": 4,
    }
    assert title_of_test(row) == "messages by write-combined stores back to back, 1500 B, 4 cores"


def test_a_value_that_is_no_number_of_bytes_is_kept() -> None:
    assert value_title("window_bytes", None) == "window bytes None"
