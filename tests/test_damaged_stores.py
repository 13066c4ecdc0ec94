"""Commands on a store that was truncated, or had bits flipped or sectors zeroed.

Each gives the sound store's results or refuses with one error; resuming never ends with other numbers.
`make damage` tries all 560 changes; these tests try some.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from damage import changes
from pcielab import InputError, open_store
from pcielab.store import damaged_tests
from shell import exported, pcielab, refuse, succeed
from suite_texts import suite_text, transfers

ONE_IN = int(os.environ.get("PCIELAB_DAMAGE_ONE_IN", "40"))
SUITE = suite_text(
    transfers("bw_dma_sz_sweep", "BW_DMA_RD BW_DMA_WR", 64, 128, 256, 512, transactions=2000),
    transfers("lat_dma_details", "LAT_DMA_RD", 64, transactions=2000, details=True),
)


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


@pytest.fixture
def damaged(whole: Path, tmp_path: Path) -> Path:
    """A copy of the store with a wrong letter in the name of test 4."""
    content = bytearray(whole.read_bytes())
    content[content.rindex(b"BW_DMA_WR") + 7] ^= 1
    (tmp_path / "run.db").write_bytes(content)
    return tmp_path / "run.db"


def test_a_damaged_test_is_repeated_if_asked(whole: Path, damaged: Path, tmp_path: Path) -> None:
    content = damaged.read_bytes()
    run = ("run", "--suite", whole.with_name("suite.toml"), "-o", damaged, "--resume")
    for reading in (("report", damaged, "-o", tmp_path / "report.html"), ("explain", damaged), run):
        assert "is damaged: test 4 (bw_dma_sz_sweep BW_DMA_VR)" in refuse(*reading).replace("\n", " ")
    assert damaged.read_bytes() == content
    repaired = succeed(*run, "--repeat-damaged").stderr
    assert "test 4 (bw_dma_sz_sweep BW_DMA_VR) is damaged: running it again" in repaired
    assert exported(damaged) == exported(whole)


def test_a_damaged_store_of_another_run_is_not_changed(whole: Path, damaged: Path) -> None:
    content = damaged.read_bytes()
    run = ("run", "--suite", whole.with_name("suite.toml"), "-o", damaged, "--resume", "--repeat-damaged")
    for other in (("--seed", "2"), ("--set", "host.root_complex.read_ns=500"), ("--suite", "quick")):
        assert "give the same to --resume, or another output" in refuse(*run, *other)
        assert damaged.read_bytes() == content


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
    repaired = succeed(*command, "-o", store, "--resume", "--repeat-damaged").stderr
    assert "is damaged: running it again" in repaired
    assert exported(store) == expected


def test_only_a_resumed_store_is_repaired(whole: Path, tmp_path: Path) -> None:
    assert "--repeat-damaged needs --resume" in refuse("run", "-o", tmp_path / "run.db", "--repeat-damaged")
    assert damaged_tests(whole) == []
    (tmp_path / "text.db").write_text("text")
    with pytest.raises(InputError, match="is not a pcielab store"):
        damaged_tests(tmp_path / "text.db")
    assert open_store(whole).extent == "9 tests"
