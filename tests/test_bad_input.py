"""Mistakes of users: exit code 2, an error with the remedy, nothing on stdout, nothing written.

Unit tests cover the checks of profiles, suites and published files; these tests cover the command line.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pcielab._core import StoreWriter
from shell import is_superuser, refuse, succeed
from suite_texts import suite_text, transfers

RUN = ("run", "-o", "new.db")
ONE_TEST = (*RUN, "--test", "bw-rd")

SYSTEM = """\
name = "mine"
title = "Mine"
base = "hsw2620"
{line}
[provenance]
source = "me"
"""
SUITE = suite_text(transfers("bw_dma_sz_sweep", "BW_DMA_RD", 64))
WITH_DISTRIBUTION = suite_text(
    transfers("bw_dma_sz_sweep", "BW_DMA_RD", 64, transactions=2000),
    transfers("lat_dma_details", "LAT_DMA_RD", 64, transactions=2000, details=True),
)


def refused(folder: Path, *arguments: str | Path) -> str:
    """The error of a command that refuses its input and changes no file of `folder`."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    message = refuse(*arguments, cwd=folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    return message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--profile", "hsw2621"), ("'hsw2621'", "did you mean hsw2620?")),
        (("--profile", "absent.toml"), ("absent.toml: system profile not found",)),
        (("--suite", "quik"), ("'quik'", "did you mean quick?")),
        (("--suite", "absent.toml"), ("absent.toml: suite not found",)),
        (("--device", "vfio"), ("--device vfio", "known: sim, rtl, cpu, nvme, e1000e, pio, cuda, fpga")),
        (("--engine", "quick"), ("--engine", "'quick'", "'fast'", "'reference'")),
        (("--samples", "few"), ("--samples", "'few'", "'adaptive'")),
        (("--seed", "-1"), ("--seed: '-1' is not a whole number", "give 0 to 9223372036854775807")),
        (("--seed", "9223372036854775808"), ("--seed 9223372036854775808", "0 to 2^63 - 1")),
        (("--jobs", "-1"), ("--jobs: '-1' is not a whole number", "give 0 to 1024")),
        (("--jobs", "100000"), ("--jobs 100000", "give 1 to ")),
        (("--set", "host.iommu.wlak_ns=3"), ("host.iommu.wlak_ns", "did you mean walk_ns?")),
        (("--set", "host.iommu.walk_us=3"), ("host.iommu.walk_us", "the key is walk_ns")),
        (("--set", "host.iommu.walk_ns=long"), ("host.iommu.walk_ns is 'long'", "give 0 to 100000")),
        (("--set", "host.llc.ways=2.5"), ("host.llc.ways is 2.5", "give 1 to 255")),
        (("--set", "host.iommu.walk_ns"), ("--set host.iommu.walk_ns", "give KEY=VALUE")),
        (("--set", "link.generation=8"), ("link.generation is 8", "1, 2, 3, 4, 5, 6 or 7")),
        (("--set", "link.mps_bytes=300"), ("link.mps_bytes is 300", "128, 256, 512")),
        (("--set", "link.mrrs_bytes=64"), ("link.mrrs_bytes is 64", "128, 256, 512")),
        (("--set", "device_socket=1"), ("device_socket is 1", "hsw-e5-2620v3 has sockets 0 to 0")),
        (("--set", "chunk_addresses=[100]"), ("chunk_addresses.0 is 100", "multiple of 4096")),
        (("--set", "host.llc.llc_bytes=1K"), ("host.llc.llc_bytes is 1024", "give 7680 (a set for each slice)")),
        (("--set", "host.llc.llc_bytes=1024G"), ("host.llc.llc_bytes is 1099511627776", "to 2147483648")),
        (("--set", "host.iommu.walkers=1000000"), ("host.iommu.walkers is 1000000", "give 1 to 4096")),
        (("--set", "host.root_complex.posted_data_credits=1"), ("is 1: give 16 or more", "a TLP of 256 bytes")),
        (("--set", "host.root_complex.posted_header_credits=4294967295"), ('1 to 65536 or "infinite"',)),
        (("--set", "host.root_complex.posted_data_credits=1000000000"), ('1 to 1048576 or "infinite"',)),
        (("--set", "host.llc.slices=4095"), ("host.llc.slices is 4095", "give 1 to 1024")),
        (("--set", "link.tags=20000"), ("link.tags is 20000", "give 1 to 16384")),
        (("--set", "link.tags=8", "--set", "link.tags=16"), ("--set link.tags: given twice",)),
        (("--set", "chunk_addresses.²=0"), ("did you mean chunk_addresses?",)),
        (("--set", ".".join("a" * 1000) + "=1"), ("unknown key", "200 letters")),
        (("--set", "link.tags=" + "9" * 5000), ("link.tags is '9999", "give 1 to 16384")),
        (("--set", "link.tags=" + "[" * 20000), ("link.tags is '[[[", "give 1 to 16384")),
        (("--set", "name='a\x7fb'"), ("letters that can be printed",)),
        (("--profile", "~nosuchuser/mine.toml"), ("~nosuchuser/mine.toml: unknown user",)),
        (("--profile", "x" * 5000 + ".toml"), ("not a path",)),
        (("--profile", "x" * 300), ("no system profile is named",)),
        (("--test", "bw-rx"), ("--test bw-rx", "did you mean bw-rd or bw-wr?")),
        (("--test", "bw-rd", "--suite", "quick"), ("--suite and --test", "give one of them")),
        (("--window", "8K"), ("--window", "give --test as well")),
    ],
)
def test_an_impossible_run_is_refused(tmp_path: Path, arguments: tuple[str, ...], expected: tuple[str]) -> None:
    message = refused(tmp_path, *RUN, *arguments)
    assert all(part in message for part in expected), message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--size", "0"), ("--size: '0' is out of range", "give 1 to 1073741824 bytes")),
        (("--size", "5000"), ("--size 5000", "at most 4096, or a multiple of it")),
        (("--size", "4000", "--host-offset", "97"), ("--host-offset 97", "must not exceed 4096")),
        (("--size", "4000", "--device-offset", "97"), ("--device-offset 97", "must not exceed 4096")),
        (("--host-offset", "-1"), ("--host-offset: '-1' is not a size", "give 0 to 4095 bytes")),
        (("--size", "512", "--window", "256"), ("--window 256", "give 512 or more")),
        (
            ("--window", "99999999999G"),
            ("--window: '99999999999G' is out of range", "give 1 to 9223372036854775807 bytes"),
        ),
        (("--window", "-8K"), ("--window: '-8K'", "give 1 to 9223372036854775807 bytes")),
        (("--cache", "hot"), ("--cache hot", "host-warm")),
        (("--pattern", "zigzag"), ("--pattern zigzag", "strided")),
        (("--stride", "2"), ("--stride 2", "only a strided pattern")),
        (("--outstanding", "0"), ("--outstanding 0", "give 1 to 4294967295")),
        (("--transactions", "99999999999"), ("--transactions 99999999999", "give 1 to 4294967295")),
        (("--transactions", "many"), ("--transactions: 'many' is not a whole number", "for example 64 or 1.5k")),
    ],
)
def test_an_impossible_test_is_refused(tmp_path: Path, arguments: tuple[str, ...], expected: tuple[str]) -> None:
    message = refused(tmp_path, *ONE_TEST, *arguments)
    assert all(part in message for part in expected), message


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("memory_sokcet = 0", "unknown key memory_sokcet: did you mean memory_socket?"),
        ("[link]\ngeneration = 3", "missing key link.mps_bytes"),
        ("[host]\nbase = 'hsw-e5-2620v3'\n[host.iommu]\nwalk_us = 0.3", "the key is walk_ns"),
        ("[host]\nbase = 'hsw-e5-2620v3'\n[host.llc]\nllc_bytes = '15 parsecs'", "llc_bytes is '15 parsecs'"),
        ("iommu = ", "line 4"),
    ],
)
def test_a_wrong_profile_is_named_with_its_key(tmp_path: Path, line: str, expected: str) -> None:
    (tmp_path / "mine.toml").write_text(SYSTEM.format(line=line))
    message = refused(tmp_path, *RUN, "--profile", "mine.toml")
    assert "mine.toml" in message
    assert expected in message


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("BW_DMA_RD", "BW_DMA_RDD", "'BW_DMA_RDD': unknown test: did you mean BW_DMA_RD?"),
        ("[64]", "[0]", "sizes.0 is 0"),
        ("8K", "32", "window_bytes is 32: give 64 or more"),
        ('caches = ["cold"]', "", "missing key caches"),
        ("[[group]]", "[[groop]]", "unknown key groop: did you mean group?"),
    ],
)
def test_a_wrong_suite_is_named_with_its_key(tmp_path: Path, old: str, new: str, expected: str) -> None:
    (tmp_path / "mine.toml").write_text(SUITE.replace(old, new))
    message = refused(tmp_path, *RUN, "--suite", "mine.toml")
    assert "mine.toml" in message
    assert expected in message


def test_a_range_of_too_many_sizes_is_refused(tmp_path: Path) -> None:
    message = refused(tmp_path, "model", "bandwidth", "--sizes", "1:1G")
    assert "--sizes: '1:1G' has 1073741824 sizes: give a step" in message


READERS = {
    "export": "export csv {0} -o out.csv",
    "compare": "compare {0} {0}",
    "report": "report {0} -o out.html",
    "resume": "run --resume -o {0}",
}
"""Every command that reads a store."""


@pytest.mark.parametrize("command", READERS)
def test_a_store_of_a_newer_schema_is_refused(tmp_path: Path, command: str) -> None:
    StoreWriter.create(tmp_path / "newer.db", json.dumps({"origin": "measured"})).close()
    with closing(sqlite3.connect(tmp_path / "newer.db")) as connection:
        connection.execute("PRAGMA user_version = 4")
    message = refused(tmp_path, *READERS[command].format("newer.db").split())
    assert "newer.db: has store schema 4, newer than 3" in message


@pytest.mark.parametrize("command", READERS)
def test_a_file_that_is_not_a_store_is_refused(tmp_path: Path, command: str) -> None:
    (tmp_path / "notes.db").write_text("dear diary, " * 100)
    assert "notes.db: is not a pcielab store" in refused(tmp_path, *READERS[command].format("notes.db").split())


def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    succeed(*ONE_TEST[:1], "-o", store, "--test", "lat-rd", "--transactions", "2000")
    store.write_bytes(store.read_bytes()[:8192] + b"\xff" * 4096)
    assert "run.db: " in refused(tmp_path, "export", "csv", "run.db", "-o", "out.csv")


@pytest.fixture
def empty_store(tmp_path: Path) -> Path:
    """A folder with a run that has no test."""
    StoreWriter.create(tmp_path / "empty.db", json.dumps({"origin": "simulated", "device": None})).close()
    return tmp_path


@pytest.mark.parametrize("command", ["export pcie-bench empty.db -o out", "compare empty.db empty.db"])
def test_a_store_without_tests_is_refused(empty_store: Path, command: str) -> None:
    assert "empty.db" in refused(empty_store, *command.split())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of one bandwidth test and one detailed latency test."""
    folder = tmp_path_factory.mktemp("store")
    suite, path = folder / "mine.toml", folder / "run.db"
    suite.write_text(WITH_DISTRIBUTION)
    succeed("run", "-o", path, "--suite", suite)
    return str(path)


@pytest.fixture(scope="module")
def exported(store: str) -> Path:
    """A directory in the published format, which no test changes."""
    folder = Path(store).with_name("published")
    succeed("export", "pcie-bench", store, "-o", folder)
    return folder


@pytest.fixture
def published(exported: Path, tmp_path: Path) -> Path:
    """A directory in the published format."""
    return shutil.copytree(exported, tmp_path / "published")


@pytest.mark.parametrize(
    ("name", "keep", "expected"),
    [
        ("bw_dma_sz_sweep.csv", -9, "bw_dma_sz_sweep.csv, line 2"),
        ("lat_dma_details_cdf.csv", -20, "lat_dma_details_cdf.csv, line "),
    ],
)
def test_a_truncated_file_is_named_with_its_line(
    published: Path, tmp_path: Path, name: str, keep: int, expected: str
) -> None:
    (published / name).write_bytes((published / name).read_bytes()[:keep])
    assert expected in refused(tmp_path, "import", "pcie-bench", published, "-o", "new.db")


def test_a_foreign_file_is_named_with_its_line(published: Path, tmp_path: Path) -> None:
    (published / "bw_dma_sz_sweep.csv").write_text("date,price\n2018-08-20,12\n")
    message = refused(tmp_path, "import", "pcie-bench", published, "-o", "new.db")
    assert "bw_dma_sz_sweep.csv, line 1: the columns are" in message


def test_a_directory_without_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    for directory in ("photos", "absent"):
        assert directory in refused(tmp_path, "import", "pcie-bench", directory, "-o", "new.db")


def outputs(output: str, store: str, directory: Path) -> dict[str, tuple[str | Path, ...]]:
    """Every command that writes a file or a folder, writing to `output`."""
    return {
        "run": (*ONE_TEST[:1], "-o", output, "--test", "bw-rd"),
        "import": ("import", "pcie-bench", directory, "-o", output),
        "export": ("export", "json", store, "-o", output),
        "export folder": ("export", "pcie-bench", store, "-o", output),
        "report": ("report", store, "-o", output),
        "compare": ("compare", store, store, "-o", output),
    }


COMMANDS = ["run", "import", "export", "export folder", "report", "compare"]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_that_exists_is_kept(published: Path, store: str, tmp_path: Path, command: str) -> None:
    (tmp_path / "mine").write_text("years of work")
    message = refused(tmp_path, *outputs("mine", store, published)[command])
    assert "mine: exists already" in message
    assert "--overwrite" in message


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_that_cannot_be_written_is_refused(
    published: Path, store: str, tmp_path: Path, command: str
) -> None:
    message = refused(tmp_path, *outputs("nowhere/mine", store, published)[command])
    assert "nowhere/mine: " in message
    assert "existing" in message or "no folder" in message


@pytest.mark.parametrize("command", ["export", "report", "compare"])
def test_a_command_does_not_replace_the_store_that_it_reads(store: str, tmp_path: Path, command: str) -> None:
    before = Path(store).read_bytes()
    message = refused(tmp_path, *outputs(store, store, tmp_path)[command], "--overwrite")
    assert f"{store}: is also an input of this command" in message
    assert Path(store).read_bytes() == before


@pytest.mark.parametrize("command", ["export", "report", "compare"])
def test_a_store_is_replaced_only_by_another(store: str, tmp_path: Path, command: str) -> None:
    other = tmp_path / "other.db"
    other.write_bytes(Path(store).read_bytes())
    message = refused(tmp_path, *outputs(str(other), store, tmp_path)[command], "--overwrite")
    assert f"{other}: is a store, and is replaced only by another" in message
    assert other.read_bytes() == Path(store).read_bytes()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.skipif(is_superuser(), reason="the superuser may write everywhere")
def test_a_folder_without_permission_is_refused(published: Path, store: str, tmp_path: Path, command: str) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    message = refused(tmp_path, *outputs("locked/mine", store, published)[command])
    assert "locked/mine: cannot be written" in message
