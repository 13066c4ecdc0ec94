"""What commands say of a store that was truncated, or had bits flipped or sectors zeroed.

Each either gives what the whole store gives, or refuses it in one message; none reads something else, and going on
with it never ends with other numbers. `make damage` tries all 560; here are some.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from damage import changes
from pcielab import InputError, open_store
from pcielab.store import damaged_tests
from shell import exported, pcielab, succeed

ONE_IN = int(os.environ.get("PCIELAB_DAMAGE_ONE_IN", "40"))
SUITE = """\
name = "mine"
title = "Mine"
[provenance]
source = "me"
[[group]]
family = "bw_dma_sz_sweep"
tests = ["BW_DMA_RD", "BW_DMA_WR"]
sizes = [64, 128, 256, 512]
windows = ["8K"]
caches = ["cold"]
patterns = ["random"]
transactions = 2000
loop = ["test", "size"]
[[group]]
family = "lat_dma_details"
tests = ["LAT_DMA_RD"]
sizes = [64]
windows = ["8K"]
caches = ["cold"]
patterns = ["random"]
transactions = 2000
details = true
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of nine tests, written in their order."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "suite.toml").write_text(SUITE)
    succeed("run", "--suite", folder / "suite.toml", "--jobs", "1", "-o", folder / "run.db")
    return folder / "run.db"


def test_damage_is_never_read_as_numbers(whole: Path, tmp_path: Path) -> None:
    content, expected = whole.read_bytes(), exported(whole)
    store = tmp_path / "run.db"
    refused = 0
    for about, change in changes(len(content))[::ONE_IN]:
        damaged = bytearray(content)
        change(damaged)
        for path in tmp_path.glob("run.db*"):
            path.unlink()
        store.write_bytes(damaged)
        done = pcielab("export", "json", store, "-o", tmp_path / "out.json", "--overwrite")
        assert done.exit_code in (0, 2), f"{about}: {done.stderr}"
        if done.exit_code == 0:
            assert (tmp_path / "out.json").read_bytes() == expected, about
        else:
            refused += 1
            assert f"{store}: " in done.stderr, about
            assert len(done.stderr.splitlines()) == 1, about
        for options in (["--resume"], ["--resume", "--repeat-damaged"]):
            done = pcielab("run", "--suite", whole.with_name("suite.toml"), "-o", store, *options)
            assert done.exit_code in (0, 2), f"{about}: {done.stderr}"
            assert "defect" not in done.stderr, f"{about}: {done.stderr}"
            if done.exit_code == 0:
                assert exported(store) == expected, about
    assert refused > 0


def test_a_damaged_test_is_done_again_if_asked(whole: Path, tmp_path: Path) -> None:
    content = bytearray(whole.read_bytes())
    place = content.rindex(b"BW_DMA_WR")
    content[place + 7] ^= 1
    store = tmp_path / "run.db"
    store.write_bytes(content)
    run = ("run", "--suite", whole.with_name("suite.toml"), "-o", store, "--resume")
    for reading in (("report", store, "-o", tmp_path / "report.html"), ("explain", store), run):
        refused = pcielab(*reading)
        assert refused.exit_code == 2, refused.stderr
        assert "is damaged: test 4 (bw_dma_sz_sweep BW_DMA_VR)" in refused.stderr.replace("\n", " ")
    assert store.read_bytes() == content
    assert (
        "test 4 (bw_dma_sz_sweep BW_DMA_VR) is damaged and is done again"
        in succeed(*run, "--repeat-damaged").stderr
    )
    assert exported(store) == exported(whole)


def test_a_damaged_store_of_another_run_stays_as_it_is(whole: Path, tmp_path: Path) -> None:
    content = bytearray(whole.read_bytes())
    content[content.rindex(b"BW_DMA_WR") + 7] ^= 1
    store = tmp_path / "run.db"
    store.write_bytes(content)
    for other in (("--seed", "2"), ("--set", "host.root_complex.read_ns=500"), ("--suite", "quick")):
        asked = (
            "run",
            "--suite",
            whole.with_name("suite.toml"),
            "-o",
            store,
            "--resume",
            "--repeat-damaged",
            *other,
        )
        refused = pcielab(*asked)
        assert refused.exit_code == 2, refused.stderr
        assert "give the same to --resume, or another output" in refused.stderr
        assert store.read_bytes() == content


MESSAGES = ("run", "--suite", Path(__file__).parent / "documents" / "small" / "messages" / "kpio.toml")
FABRIC = ("fabric", "run", "fabrex-u55c", "--flows", "latency", "--duration-us", "20")


@pytest.mark.parametrize("command", [MESSAGES, FABRIC], ids=["messages", "fabric"])
def test_every_kind_of_run_is_repaired(command: tuple[str | Path, ...], tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    succeed(*command, "-o", store)
    expected = exported(store)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE scalar SET value = value + 1 WHERE test = 0")
    assert pcielab(*command, "-o", store, "--resume").exit_code == 2
    told = succeed(*command, "-o", store, "--resume", "--repeat-damaged").stderr
    assert "is damaged and is done again" in told
    assert exported(store) == expected


def test_only_a_store_that_is_gone_on_with_is_repaired(whole: Path, tmp_path: Path) -> None:
    refused = pcielab("run", "-o", tmp_path / "run.db", "--repeat-damaged")
    assert refused.exit_code == 2
    assert "give --resume as well" in refused.stderr
    assert damaged_tests(whole) == []
    (tmp_path / "text.db").write_text("text")
    with pytest.raises(InputError, match="is not a pcielab store"):
        damaged_tests(tmp_path / "text.db")
    assert open_store(whole).extent == "9 tests"
