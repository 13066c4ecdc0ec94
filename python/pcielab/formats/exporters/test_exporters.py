"""Exports lose nothing, show the origin, and destroy no file."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from pcielab import InputError, Store, open_store
from pcielab._core import StoreWriter
from pcielab.formats.exporters import EXPORTERS, export
from pcielab.formats.importers import import_pcie_bench

OF_OTHERS = ("requests", "trace", "perfetto", "netfpga")
"""Need requests through a fabric (tests/test_own_fabric.py), or a NetFPGA (tests/test_netfpga.py)."""


@pytest.fixture
def store(published: Path, tmp_path: Path) -> Store:
    import_pcie_bench(published, tmp_path / "run.db")
    return open_store(tmp_path / "run.db")


def simulated(path: Path, *, family: str = "single", attachment: str | None = None, **manifest: object) -> Store:
    """A store as the runner writes it: few transactions, a time of fractional cycles, a test that did not run."""
    parameters = {
        "cache": "cold",
        "details": False,
        "device_offset_bytes": 0,
        "host_offset_bytes": 0,
        "operation": "bw-rd",
        "outstanding": None,
        "path": "dma",
        "pattern": "strided",
        "size_bytes": 64,
        "stride_units": 2,
        "transactions": 8388608,
        "window_bytes": 65536,
    }
    record = {"family": family, "name": "BW_DMA_RD", "parameters": json.dumps(parameters), "status": "ok"}
    values = {"time": (1000.5, "ns"), "bytes": (1280, "B"), "transactions": (20, "1")}
    rates = {"bandwidth": (10.23488, "Gb/s"), "rate": (19990004.997, "1/s")}
    scalars = [{"metric": name, "unit": unit, "value": value} for name, (value, unit) in (values | rates).items()]
    timer = {"numerator_ns": 4, "denominator": 1, "cycles": 1}
    facts = {"origin": "simulated", "device": {"name": "netfpga", "timer": timer}} | manifest
    with StoreWriter.create(path, json.dumps(facts)) as writer:
        writer.write_test(json.dumps(record | {"id": 0, "scalars": scalars}))
        writer.write_test(json.dumps(record | {"id": 1, "status": "not-supported", "message": "no command path"}))
        if attachment is not None:
            writer.attach(attachment, "text")
    return open_store(path)


def test_published_files_are_reproduced_byte_for_byte(store: Store, published: Path, tmp_path: Path) -> None:
    export(store, "pcie-bench", tmp_path / "out")
    for file in published.iterdir():
        assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes(), file.name
    dat = (tmp_path / "out" / "bw_dma_sz_sweep.dat").read_text()
    txt = (tmp_path / "out" / "bw_dma_sz_sweep.txt").read_text()
    assert dat.splitlines()[1:3] == [
        " BW_DMA_RD Rand   HWarm  0  0  8192   16     151242672 126035560.0 134217728   8388608       8.519 "
        "66557470.0",
        " BW_DMA_RD Rand   HWarm  0  0 1572864.0   64     160588240 133823533.333 536870912   8388608      32.094 "
        "62684101.9",
    ]
    assert " 1.5MB   64     160588240  133.82ms    512MB " in txt
    assert dat.count("\n\n\n") == txt.count("\n\n") == 1
    cdf = (tmp_path / "out" / "lat_cmd_details_cdf.dat").read_text()
    assert "#test=LAT_CMD_RD trans_sz=8 win_sz=8192 cache=cold\n     544      453 0.00000000\n" in cdf


def test_a_simulated_run_stays_simulated_through_export_and_import(tmp_path: Path) -> None:
    store = simulated(tmp_path / "run.db", title="a card")
    export(store, "pcie-bench", tmp_path / "out")
    rows = (tmp_path / "out" / "bw_single.csv").read_text().splitlines()
    assert rows[1:] == ["BW_DMA_RD,Stri,Cold,0,0,65536,64,250,1000.5,1280,20,10.23488,19990004.997"]
    # Times below 1 ms are in microseconds.
    assert "   1.00us   1.25KB " in (tmp_path / "out" / "bw_single.txt").read_text()
    origin = (tmp_path / "out" / "ORIGIN.txt").read_text()
    assert "origin: simulated\n" in origin
    assert "rows left out: 1\n" in origin
    import_pcie_bench(tmp_path / "out", tmp_path / "again.db")
    again = open_store(tmp_path / "again.db")
    assert (again.origin, again.title) == ("simulated", "a card")
    assert again.manifest["device"]["name"] == "netfpga"
    assert again.scalars["bandwidth"].tolist() == [10.23488]


def test_tables_have_origin_units_and_full_precision(store: Store, tmp_path: Path) -> None:
    export(store, "csv", tmp_path / "run.csv")
    export(store, "parquet", tmp_path / "run.parquet")
    table = pd.read_csv(tmp_path / "run.csv")
    assert table["origin"].tolist() == ["measured"] * 6
    assert table["bandwidth_gbps"].tolist()[3] == 8.519356156310172
    assert table["median_ns"].tolist()[1] == 466.6666666666667
    assert "134217728,8388608," in (tmp_path / "run.csv").read_text()
    parquet = pd.read_parquet(tmp_path / "run.parquet")
    assert list(parquet.columns) == list(table.columns)
    assert parquet["bytes"].tolist()[3] == 134217728


def test_identical_runs_give_identical_json(tmp_path: Path) -> None:
    first = simulated(tmp_path / "a.db", started="today", machine="this", seed=1)
    second = simulated(tmp_path / "b.db", started="tomorrow", machine="that", seed=1)
    export(first, "json", tmp_path / "a.json")
    export(second, "json", tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    whole = json.loads((tmp_path / "a.json").read_text())
    assert whole["manifest"]["seed"] == 1
    assert "started" not in whole["manifest"]
    assert [test["status"] for test in whole["tests"]] == ["ok", "not-supported"]


def test_json_has_everything(store: Store, tmp_path: Path) -> None:
    export(store, "json", tmp_path / "run.json")
    whole = json.loads((tmp_path / "run.json").read_text())
    assert whole["tests"][0]["distributions"] == [
        {"metric": "latency", "tick": "40/3", "bins": [[34, 2], [36, 7], [37, 1]]}
    ]
    assert whole["attachments"].keys() == {"sys-cpuinfo.txt"}


@pytest.mark.parametrize("name", [name for name in EXPORTERS if name not in OF_OTHERS])
def test_keeps_an_existing_output_without_overwrite(store: Store, tmp_path: Path, name: str) -> None:
    output = tmp_path / "output"
    export(store, name, output)
    with pytest.raises(InputError, match="exists already"):
        export(store, name, output)
    export(store, name, output, overwrite=True)
    with pytest.raises(InputError, match="cannot be written"):
        export(store, name, tmp_path / "nowhere" / "output")
    with pytest.raises(InputError, match=r"run\.db: is (a store|not a folder that pcielab wrote)"):
        export(store, name, store.path, overwrite=True)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


FOREIGN_NAMES = [
    "../victim.toml",
    "../../victim.toml",
    "/tmp/victim.toml",
    "a/b",
    "..",
    "C:x",
    "NUL",
    "a\nb",
    "x" * 300,
]


def _digest_of_attachments(rows: list[tuple[str, str]]) -> str:
    """The digest of docs/reference/store.md."""
    texts = [text.encode() for row in rows for text in row]
    parts = [len(rows).to_bytes(8, "little"), *(len(text).to_bytes(8, "little") + text for text in texts)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


@pytest.mark.parametrize("name", FOREIGN_NAMES)
def test_refuses_an_attachment_with_an_unsafe_name(store: Store, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim.toml"
    victim.write_text("years of work")
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE attachment SET name = ?", (name,))
        [(content,)] = connection.execute("SELECT content FROM attachment").fetchall()
        digest = _digest_of_attachments([(name, content)])
        connection.execute("UPDATE digest SET digest = ? WHERE part = 'attachments'", (digest,))
    foreign = open_store(store.path)
    assert [*foreign.attachments] == [name]
    (tmp_path / "a").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=r"run\.db: attachment .*: give a plain file name"):
        export(foreign, "pcie-bench", tmp_path / "a" / "out")
    assert sorted(tmp_path.rglob("*")) == before
    assert victim.read_text() == "years of work"


@pytest.mark.parametrize("family", ["bw_/../../victim", "/../victim", "bw_a\0b", "x" * 300])
def test_refuses_a_family_with_an_unsafe_name(tmp_path: Path, family: str) -> None:
    (tmp_path / "victim.csv").write_text("years of work")
    foreign = simulated(tmp_path / "run.db", family=family)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=r"run\.db: family .*: give a plain file name"):
        export(foreign, "pcie-bench", tmp_path / "out")
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "victim.csv").read_text() == "years of work"


def test_no_file_of_an_export_overwrites_another(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"attachment 'bw_single\.csv': would overwrite another file"):
        export(simulated(tmp_path / "run.db", attachment="bw_single.csv"), "pcie-bench", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_measured_directories_are_never_overwritten(store: Store, published: Path) -> None:
    before = sorted(path.name for path in published.iterdir())
    with pytest.raises(InputError, match=r"holds no ORIGIN\.txt"):
        export(store, "pcie-bench", published, overwrite=True)
    assert sorted(path.name for path in published.iterdir()) == before


def test_refuses_a_store_that_lacks_data_of_the_published_format(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no usable `device\.timer`"):
        export(simulated(tmp_path / "a.db", device=None), "pcie-bench", tmp_path / "out")
    StoreWriter.create(
        tmp_path / "b.db",
        json.dumps({"origin": "simulated", "device": open_store(tmp_path / "a.db").manifest["device"]}),
    ).close()
    with pytest.raises(InputError):
        export(open_store(tmp_path / "b.db"), "pcie-bench", tmp_path / "out")
    with pytest.raises(InputError, match="give one of pcie-bench, csv, parquet, json, netfpga"):
        export(open_store(tmp_path / "a.db"), "xls", tmp_path / "out")
    assert not (tmp_path / "out").exists()
