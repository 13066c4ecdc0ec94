"""Imports keep rows unchanged and in order, and name damage by file and line."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pcielab import InputError, open_store
from pcielab.formats.importers import import_pcie_bench


def imported(directory: Path) -> Path:
    output = directory.parent / "run.db"
    import_pcie_bench(directory, output)
    return output


def test_rows_keep_run_order_file_order_and_duplicates(published: Path) -> None:
    tests = open_store(imported(published)).tests
    assert tests["family"].tolist() == ["lat_cmd_details"] * 3 + ["bw_dma_sz_sweep"] * 3
    assert tests["cache"].tolist() == ["cold", "host-warm", "host-warm", "host-warm", "host-warm", "cold"]
    assert tests["window_bytes"].tolist() == [8192, 8192, 8192, 8192, 1572864, 8192]
    assert tests["operation"].tolist() == ["lat-rd"] * 3 + ["bw-rd", "bw-rd", "bw-rdwr"]
    assert tests["path"].tolist() == ["command"] * 3 + ["dma"] * 3


def test_numbers_are_kept_and_rows_of_reads_and_writes_asked_for_twice_the_transactions(published: Path) -> None:
    scalars = open_store(imported(published)).scalars
    assert scalars["bandwidth"].tolist()[3:] == [8.519356156310172, 32.09426017247589, 4.259678078155086]
    assert scalars["median"].tolist()[:3] == [480.0, 466.6666666666667, 466.6666666666667]
    assert scalars["transactions"].tolist()[5] == 4194304
    assert scalars["transactions_asked"].tolist()[5] == 8388608


def test_recovers_the_counts_of_distributions(published: Path) -> None:
    store = open_store(imported(published))
    cold = store.distribution(0)
    assert cold["bin"].tolist() == [34, 36, 37]
    assert cold["count"].tolist() == [2, 7, 1]
    assert cold["latency_ns"].tolist() == [pytest.approx(453 + 1 / 3), 480.0, pytest.approx(493 + 1 / 3)]
    assert cold["cdf"].tolist() == [0.2, 0.9, 1.0]
    assert store.distribution(2)["count"].tolist() == [1, 3]
    assert store.distribution(3).empty


def test_manifest_has_origin_timer_and_host(published: Path) -> None:
    store = open_store(imported(published))
    assert store.origin == "measured"
    assert store.manifest["device"]["timer"] == {"numerator_ns": 40, "denominator": 3, "cycles": 16}
    assert store.manifest["host"] == {"processor": "Xeon", "sockets": 1, "llc_bytes": 15728640}
    assert list(store.attachments) == ["sys-cpuinfo.txt"]


def test_reads_the_dat_form_of_distributions_without_the_csv(published: Path) -> None:
    (published / "lat_cmd_details_cdf.csv").unlink()
    label = "#test=LAT_CMD_RD trans_sz=8 win_sz=8192 cache="
    (published / "lat_cmd_details_cdf.dat").write_text(
        f"#  cycles       ns        cdf\n{label}cold\n 544 453 0.0\n 544 453 0.2\n 576 480 1.0\n\n\n"
        f"{label}hwarm\n 544 453 0.0\n 544 453 1.0\n\n\n{label}hwarm\n 544 453 0.0\n 544 453 1.0\n"
    )
    assert open_store(imported(published)).distribution(0)["count"].tolist() == [2, 8]


def changed(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        text = (directory / name).read_bytes().decode()
        assert old in text
        (directory / name).write_bytes(text.replace(old, new, 1).encode())

    return change


def truncated(name: str, keep: int) -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        (directory / name).write_bytes((directory / name).read_bytes()[:keep])

    return change


@pytest.mark.parametrize(
    "damage, message",
    [
        (truncated("bw_dma_sz_sweep.csv", -5), r"bw_dma_sz_sweep\.csv, line 4: the last line does not end"),
        (truncated("bw_dma_sz_sweep.csv", 300), r"bw_dma_sz_sweep\.csv, line 3"),
        (truncated("bw_dma_sz_sweep.csv", 0), r"line 1: the file is empty"),
        (changed("bw_dma_sz_sweep.csv", "BW (GB/s)", "speed"), r"bw_dma_sz_sweep\.csv, line 1: the columns are"),
        (
            changed("bw_dma_sz_sweep.csv", "BW_DMA_RW", "BW_DMA_XX"),
            r"line 4: column 'Test' is 'BW_DMA_XX': .* BW_DMA_WR",
        ),
        (changed("bw_dma_sz_sweep.csv", "BW_DMA_RW", "LAT_DMA_RD"), r"line 4: column 'Test'"),
        (changed("bw_dma_sz_sweep.csv", "HWarm", "Tepid"), r"line 2: column 'Cache' is 'Tepid': .* one of Cold"),
        (changed("bw_dma_sz_sweep.csv", ",16,", ",0,"), r"line 2: column 'SZ' is '0': give a number above 0"),
        (changed("bw_dma_sz_sweep.csv", ",16,", ",1.5,"), r"line 2: column 'SZ' is '1\.5': .* whole"),
        (changed("bw_dma_sz_sweep.csv", ",16,", ",nan,"), r"line 2: column 'SZ' is 'nan': .* a number"),
        (changed("bw_dma_sz_sweep.csv", "8.5193", "9.5193"), r"line 2: column 'BW \(GB/s\)' .* about 8\.51936"),
        (changed("bw_dma_sz_sweep.csv", ",8388608,", ","), r"line 2: 12 columns where 13"),
        (
            changed("lat_cmd_details.csv", ",480.0,", ",980.0,"),
            r"lat_cmd_details\.csv, line 2: column 'Med\(ns\)'",
        ),
        (
            changed("lat_cmd_details.csv", ",0,10", ",9000000000000000,10"),
            r"_small: test 0: `outliers` is 9e15: give a whole number from 0 to 1e15",
        ),
        (
            changed("lat_cmd_details_cdf.csv", ",0.9", ",0.1"),
            r"lat_cmd_details_cdf\.csv, line 4: the cdf falls to 0.1",
        ),
        (changed("lat_cmd_details_cdf.csv", "576,", "577,"), r"lat_cmd_details_cdf\.csv, line 4: 577 cycles"),
        (changed("lat_cmd_details_cdf.csv", "1.0", "0.8999"), r"lat_cmd_details_cdf\.csv, line 5: .*cdf"),
        (changed("lat_cmd_details_cdf.csv", "576,480.0", "576"), r"lat_cmd_details_cdf\.csv, line 4: '576,0.9'"),
        (truncated("lat_cmd_details_cdf.csv", -68), r"lat_cmd_details_cdf\.csv: 2 distributions where .* 3 rows"),
    ],
)
def test_names_damage_and_writes_nothing(published: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(published)
    with pytest.raises(InputError) as raised:
        imported(published)
    assert re.search(message, str(raised.value)), raised.value
    assert not (published.parent / "run.db").exists()


def test_refuses_binary_data(published: Path) -> None:
    (published / "bw_dma_sz_sweep.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="byte 0: is not text"):
        imported(published)


def test_refuses_a_folder_without_data(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match=re.escape(str(directory))):
            import_pcie_bench(directory, tmp_path / "run.db")
    assert not (tmp_path / "run.db").exists()


def test_keeps_an_existing_store_without_overwrite(published: Path) -> None:
    output = imported(published)
    before = output.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        import_pcie_bench(published, output)
    assert output.read_bytes() == before
    import_pcie_bench(published, output, overwrite=True)
