"""`pcielab doctor` as people type it."""

import json
import subprocess
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest

from made_machine import server, write
from pcielab._core import StoreWriter
from pcielab.doctor.examine import Examination
from shell import PCIELAB, pcielab, refuse

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


@pytest.mark.parametrize(
    "text",
    [
        "01:00.0 Ethernet controller: Some NIC\n\tFlags: fast devsel\n\tCapabilities: <access denied>\n",
        "01:00.0 Ethernet controller: Some NIC\n",
        "01:00.0 Ethernet controller: Some NIC\n\tCapabilities: [60] Express Endpoint, MSI 00\n",
        "00:1f.0 ISA bridge: Intel Corporation C620 LPC\n\tControl: I/O+ Mem+ BusMaster+\n",
    ],
    ids=["without root", "without -v", "with one -v", "no device with a link"],
)
def test_strict_does_not_pass_registers_that_were_not_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "lspci.txt").write_text(text)
    done = pcielab("doctor", "--lspci", "lspci.txt", "--strict", cwd=tmp_path)
    assert done.exit_code == 1
    assert "no link can be judged" in done.stdout
    assert pcielab("doctor", "--lspci", "lspci.txt", cwd=tmp_path).exit_code == 0


def test_a_machine_that_was_read_in_part_is_not_called_free_of_findings(tmp_path: Path) -> None:
    functions = server()
    root = write(tmp_path / "m", functions)
    hidden = root / "sys/devices/pci0000:00" / functions[-1].slot / "config"
    hidden.write_bytes(hidden.read_bytes()[:64])
    done = pcielab("doctor", "--sysfs", root, "--strict")
    assert done.exit_code == 1
    assert done.stdout.strip().endswith("no findings in what could be read")
    assert "run it as root" in done.stderr


def piped(text: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [PCIELAB, "doctor", "--lspci", "-", *arguments], input=text, capture_output=True, text=True, check=False
    )


def test_a_text_is_read_from_standard_input() -> None:
    done = piped(SERVER.read_text(), "--format", "json")
    from_file = pcielab("doctor", "--lspci", SERVER, "--format", "json")
    assert json.loads(done.stdout)["findings"] == json.loads(from_file.stdout)["findings"]
    assert json.loads(done.stdout)["source"] == "standard input"


def test_an_empty_standard_input_is_refused() -> None:
    done = piped("")
    assert done.returncode == 2
    assert "standard input: no PCI function in this text" in done.stderr


def test_a_text_in_the_wrong_place_names_the_option() -> None:
    assert f"give it with --lspci {SERVER}" in refuse("doctor", SERVER)


def test_a_command_of_one_register_write_is_marked_as_risky() -> None:
    shown = pcielab("doctor", "--lspci", SERVER).stdout
    assert (
        "  command, risky (it may hang the machine; lost at the next reset):\n"
        "    sudo setpci -s 0000:01:00.0 CAP_EXP+8.w=5000:7000\n"
    ) in shown
    pairs = pairwise(shown.splitlines())
    assert all("risky" in above or "setpci" in above for above, line in pairs if "setpci" in line)


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


def test_the_tree_shows_the_severities_of_each_function() -> None:
    shown = pcielab("doctor", "--lspci", TEXTS / "xeon-6230-bad-riser.txt", "--tree").stdout
    tree = shown.partition("\n\n")[0].splitlines()
    marked = [line.split()[0] for line in tree if "error" in line or "warning" in line]
    assert marked == ["3b:00.0"]
    assert next(line for line in tree if "3b:00.0" in line).endswith(" | 1 error, 1 warning")


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
