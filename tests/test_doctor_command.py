"""`pcielab doctor` as people type it."""

import json
from pathlib import Path

import jsonschema
import pytest

from pcielab._core import StoreWriter
from pcielab.doctor.examine import Examination
from pcielab.doctor.made_machine import server, write
from shell import pcielab, refuse

TEXTS = Path(__file__).parent / "lspci_texts"
SERVER = TEXTS / "pciutils-3.9.txt"


def test_findings_do_not_change_the_exit_code_unless_asked() -> None:
    done = pcielab("doctor", "--lspci", SERVER)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.index("\nerrors\n") < done.stdout.index("01:00.0 Ethernet controller: Mellanox")
    assert "link is running at 16 GT/s x8; both ends support 32 GT/s x16" in done.stdout
    assert pcielab("doctor", "--lspci", SERVER, "--strict").exit_code == 1


def test_strict_is_content_with_a_healthy_machine(tmp_path: Path) -> None:
    done = pcielab("doctor", "--sysfs", write(tmp_path / "m", server()), "--strict")
    assert (done.exit_code, done.stdout.strip().rpartition(", ")[2]) == (0, "no findings")


def test_a_text_without_root_is_not_taken_for_a_virtual_machine(tmp_path: Path) -> None:
    text = "01:00.0 Ethernet controller: Some NIC\n\tFlags: fast devsel\n\tCapabilities: <access denied>\n"
    (tmp_path / "lspci.txt").write_text(text)
    done = pcielab("doctor", "--lspci", "lspci.txt", cwd=tmp_path)
    assert "0 links, no link can be judged: too many registers are hidden" in done.stdout
    assert "virtual machine" not in done.stdout
    assert "give the output of `sudo lspci -vvv`" in done.stderr


def test_json_is_one_object_of_its_schema() -> None:
    done = pcielab("doctor", "--lspci", SERVER, "--tree", "--format", "json")
    written = json.loads(done.stdout)
    jsonschema.validate(written, Examination.model_json_schema(mode="serialization"))
    assert written["findings"][0]["rule"] == "below-both-ends"
    assert [branch["slot"] for branch in written["tree"]][:2] == ["0000:00:01.0", "0000:01:00.0"]


def test_csv_has_a_line_for_each_finding() -> None:
    lines = pcielab("doctor", "--lspci", SERVER, "--format", "csv").stdout.splitlines()
    assert lines[0].startswith("severity,sureness,rule,cause,device,port,what,")
    assert len(lines) == 13


def test_the_tree_shows_bandwidths_of_links_and_of_devices_below() -> None:
    shown = pcielab("doctor", "--lspci", SERVER, "--tree").stdout
    assert "00:03.0 PCI bridge: Intel Corporation Device 352a | empty" in shown
    assert "16 GT/s x8 | reads 121.0, writes 120.1 Gb/s" in shown
    assert "| below it 126 of 126 Gb/s raw" in shown


def test_a_saved_machine_is_examined_elsewhere_with_the_same_findings(tmp_path: Path) -> None:
    saved = tmp_path / "machine.json"
    here = pcielab("doctor", "--lspci", SERVER, "--save", saved, "--format", "json")
    there = pcielab("doctor", saved, "--format", "json")
    assert json.loads(there.stdout)["findings"] == json.loads(here.stdout)["findings"]
    assert "--overwrite" in refuse("doctor", "--lspci", SERVER, "--save", saved)


def store(path: Path, attachments: dict[str, str]) -> Path:
    with StoreWriter.create(path, json.dumps({"origin": "measured"})) as writer:
        for name, text in attachments.items():
            writer.attach(name, text)
    return path


def test_a_store_with_a_text_is_examined(tmp_path: Path) -> None:
    done = pcielab("doctor", store(tmp_path / "run.db", {"sys-lspci.txt": SERVER.read_text()}), "--format", "json")
    examined = json.loads(done.stdout)
    assert examined["findings"][0]["device"] == "0000:01:00.0"
    assert examined["source"].endswith("run.db, sys-lspci.txt")


def test_a_store_without_a_text_says_so(tmp_path: Path) -> None:
    assert "without the machine's sys-lspci.txt" in refuse("doctor", store(tmp_path / "run.db", {}))


def test_this_machine_is_read_twice(tmp_path: Path) -> None:
    if not Path("/sys/bus/pci/devices").is_dir() or not any(Path("/sys/bus/pci/devices").iterdir()):
        pytest.skip("this machine has no PCI function")
    done = pcielab("doctor", "--watch", "0.2")
    assert done.exit_code == 0
    assert "reading again in 0.2 s" in done.stderr


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["--lspci", "missing.txt"], "missing.txt: cannot be read"),
        (["--sysfs", "missing"], "missing: not a folder"),
        (["missing.db"], "missing.db: cannot be read"),
        (["--lspci", SERVER, "--sysfs", "x"], "give one of them"),
        (["--lspci", SERVER, "--watch", "1"], "--watch"),
        ([SERVER], "not a saved tree"),
    ],
)
def test_bad_input_is_refused(arguments: list[str | Path], expected: str, tmp_path: Path) -> None:
    assert expected in refuse("doctor", *arguments, cwd=tmp_path)
