"""The Vivado scripts, in a Tcl interpreter with stubs of Vivado's commands: files, properties, steps, timing.

No test runs Vivado. Properties are those that PG213 and AMD's designs set; a new one needs a source.
"""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from simulator import sources, use_verilator

tkinter = pytest.importorskip("tkinter", reason="Python has no Tcl here: the Vivado scripts are not run")

VIVADO = Path(__file__).resolve().parents[1] / "vivado"
BOARDS = {
    "alveo-u50": ("xcu50-fsvh2104-2-e", "16", "8.0_GT/s"),
    "alveo-u200": ("xcu200-fsgd2104-2-e", "16", "8.0_GT/s"),
    "alveo-u250": ("xcu250-figd2104-2L-e", "16", "8.0_GT/s"),
    "kcu116": ("xcku5p-ffvb676-2-e", "8", "16.0_GT/s"),
}
PINS = ["pcie_reference_n", "pcie_reference_p", "pcie_reset_n"]
OWN_PINS = {"alveo-u50": ["hbm_cattrip"]}
OWN_TOPS = {"alveo-u50": "alveo_u50_top"}
HARD_BLOCKS = {"alveo-u50": "pcie4c_uscale_plus"}
PROPERTIES = {
    "mode_selection": "Advanced", "axisten_if_width": "512_bit", "axisten_freq": "250",
    "AXISTEN_IF_EXT_512_CQ_STRADDLE": "false", "AXISTEN_IF_EXT_512_CC_STRADDLE": "false",
    "AXISTEN_IF_EXT_512_RQ_STRADDLE": "false", "AXISTEN_IF_EXT_512_RC_STRADDLE": "true",
    "axisten_if_enable_client_tag": "true", "extended_tag_field": "true", "PF0_DEVICE_ID": "9038",
    "PF0_CLASS_CODE": "118000", "PF0_DEV_CAP_MAX_PAYLOAD": "1024_bytes", "pf0_bar0_64bit": "true",
    "pf0_bar0_scale": "Kilobytes", "pf0_bar0_size": "128", "pf0_bar2_enabled": "true", "pf0_bar2_64bit": "true",
    "pf0_bar2_prefetchable": "true", "pf0_bar2_scale": "Kilobytes", "pf0_bar2_size": "32",
    "pf0_bar4_enabled": "true", "pf0_bar4_64bit": "true", "pf0_bar4_scale": "Kilobytes", "pf0_bar4_size": "64",
    "pf0_msi_enabled": "false", "pf0_msix_enabled": "true", "MSI_X_OPTIONS": "MSI-X_External",
    "PF0_MSIX_CAP_TABLE_SIZE": "000", "PF0_MSIX_CAP_TABLE_BIR": "BAR_1:0",
    "PF0_MSIX_CAP_TABLE_OFFSET": "00002000", "PF0_MSIX_CAP_PBA_BIR": "BAR_1:0",
    "PF0_MSIX_CAP_PBA_OFFSET": "00002800",
}  # fmt: skip


class Vivado:
    """A Tcl interpreter that records Vivado's commands."""

    def __init__(self, slack_ns: str = "0.1", progress: str = "100%") -> None:
        self.commands: list[tuple[str, ...]] = []
        self.tcl = tkinter.Tcl()
        answers = {"SLACK": slack_ns, "PROGRESS": progress, "STATUS": "place_design ERROR"}
        for name in (
            "create_project", "add_files", "create_ip", "set_property", "generate_target", "launch_runs",
            "wait_on_run", "open_run", "report_timing_summary", "create_clock", "set_false_path",
        ):  # fmt: skip
            self.stub(name)
        for name in ("get_ips", "get_ports", "get_runs", "get_timing_paths"):
            self.tcl.createcommand(name, lambda *words, name=name: f"{name}:{words[-1]}")
        self.tcl.createcommand("current_fileset", lambda: "sources_1")
        self.tcl.createcommand("get_property", lambda name, of: answers[name])
        self.tcl.createcommand("puts", lambda *words: "")

    def stub(self, name: str) -> None:
        """Record the calls of a command."""
        self.tcl.createcommand(name, lambda *words: self.commands.append((name, *map(str, words))))

    def run(self, script: Path, *arguments: str) -> None:
        """Run a script.

        Raises:
            TclError: It stops with an error, or uses a command that Vivado's stubs lack.
        """
        self.tcl.setvar("argv", " ".join(arguments))
        self.tcl.call("source", str(script))

    def calls(self, name: str) -> list[tuple[str, ...]]:
        """The arguments of each call of a command."""
        return [words for command, *words in self.commands if command == name]

    def ip_properties(self) -> dict[str, str]:
        """What the script sets of the hard block."""
        words = next(words for words in self.calls("set_property") if words[0] == "-dict")
        items: Any = self.tcl.splitlist(words[1])
        return {items[n].removeprefix("CONFIG."): items[n + 1] for n in range(0, len(items), 2)}


@pytest.mark.parametrize("board", BOARDS)
def test_script_builds_a_bitstream_of_the_board(board: str, tmp_path: Path) -> None:
    vivado = Vivado()
    vivado.run(VIVADO / "build.tcl", board, "bitstream", str(tmp_path))
    part, lanes, speed = BOARDS[board]
    assert vivado.calls("create_project") == [["pcielab", str(tmp_path), "-part", part]]
    wanted = {"PL_LINK_CAP_MAX_LINK_SPEED": speed, "PL_LINK_CAP_MAX_LINK_WIDTH": f"X{lanes}"}
    assert vivado.ip_properties() == PROPERTIES | wanted
    assert ["top", OWN_TOPS.get(board, "board_top"), "sources_1"] in vivado.calls("set_property")
    (ip,) = vivado.calls("create_ip")
    assert list(ip[:2]) == ["-name", HARD_BLOCKS.get(board, "pcie4_uscale_plus")]
    assert ["generic", f"LANES={lanes}", "sources_1"] in vivado.calls("set_property")
    added = [Path(path) for words in vivado.calls("add_files") for path in vivado.tcl.splitlist(words[-1])]
    assert all(path.exists() for path in added)
    assert {path.resolve() for path in added} >= {*sources(), VIVADO / "board_top.sv", VIVADO / board / "pins.xdc"}
    assert [words[:3] for words in vivado.calls("launch_runs")] == [
        ["impl_1", "-jobs", "4"],
        ["impl_1", "-to_step", "write_bitstream"],
    ]


@pytest.mark.parametrize(("step", "runs"), [("project", 0), ("timing", 1)])
def test_earlier_steps_stop_before_the_bitstream(step: str, runs: int, tmp_path: Path) -> None:
    vivado = Vivado()
    vivado.run(VIVADO / "build.tcl", "kcu116", step, str(tmp_path))
    assert len(vivado.calls("launch_runs")) == runs


def test_missed_timing_stops_the_build(tmp_path: Path) -> None:
    vivado = Vivado(slack_ns="-0.012")
    with pytest.raises(tkinter.TclError, match=r"setup slack is -0\.012 ns"):
        vivado.run(VIVADO / "build.tcl", "alveo-u250", "bitstream", str(tmp_path))
    assert len(vivado.calls("launch_runs")) == 1


def test_failed_implementation_stops_the_build(tmp_path: Path) -> None:
    with pytest.raises(tkinter.TclError, match="implementation stopped: place_design ERROR"):
        Vivado(progress="60%").run(VIVADO / "build.tcl", "alveo-u250", "timing", str(tmp_path))


@pytest.mark.parametrize("arguments", [(), ("u250",), ("kcu116", "synthesis")])
def test_unknown_boards_and_steps_are_refused(arguments: tuple[str, ...]) -> None:
    vivado = Vivado()
    with pytest.raises(tkinter.TclError, match="usage"):
        vivado.run(VIVADO / "build.tcl", *arguments)
    assert not vivado.commands


def test_a_board_with_another_hard_block_is_refused_by_name() -> None:
    with pytest.raises(tkinter.TclError, match="kcu105: its hard block is that of UltraScale"):
        Vivado().run(VIVADO / "build.tcl", "kcu105")


def test_the_alarm_of_the_hbm_is_tied_low() -> None:
    text = (VIVADO / "alveo-u50" / "alveo_u50_top.sv").read_text()
    assert "assign hbm_cattrip = 1'b0;" in text


@pytest.mark.parametrize("board", BOARDS)
def test_constraints_place_the_clock_and_the_reset(board: str) -> None:
    vivado = Vivado()
    vivado.run(VIVADO / "clock.xdc")
    vivado.run(VIVADO / board / "pins.xdc")
    placed = [words[-1] for words in vivado.calls("set_property") if "PACKAGE_PIN" in " ".join(words)]
    assert sorted(placed) == sorted(f"get_ports:{pin}" for pin in PINS + OWN_PINS.get(board, []))
    clock = ["-period", "10.000", "-name", "pcie_reference", "get_ports:pcie_reference_p"]
    assert vivado.calls("create_clock") == [clock]


@pytest.mark.parametrize(("top", "lanes"), [("board_top", 8), ("board_top", 16), ("alveo_u50_top", 16)])
def test_ports_of_the_board_fit_the_hard_block(top: str, lanes: int) -> None:
    use_verilator()
    stubs = Path(__file__).parent / "hard_block" / "pcie4.sv"
    command = [
        "verilator",
        "--lint-only",
        "--top-module",
        top,
        f"-GLANES={lanes}",
        f"+define+LANES={lanes}",
    ]
    files = [*sources(), stubs, VIVADO / "board_top.sv", *VIVADO.glob(f"*/{top}.sv")]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
