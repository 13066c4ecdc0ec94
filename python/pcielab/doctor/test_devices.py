"""A device of a machine, its link, and a system drafted from it."""

from pathlib import Path

import pytest

from pcielab.doctor import Tree, read_lspci
from pcielab.doctor.devices import find, link_of, root_port
from pcielab.doctor.skeleton import skeleton
from pcielab.errors import InputError
from pcielab.library.profiles import resolve

PRESENT = """\
0000:3a:00.0 PCI bridge [0604]: Intel Corporation Device [8086:352a] (rev 04) (prog-if 00 [Normal decode])
        Control: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+
        Capabilities: [40] Express (v2) Root Port (Slot+), IntMsgNum 0
                DevCtl: CorrErr- NonFatalErr+ FatalErr+ UnsupReq-
                        RlxdOrd- ExtTag+ PhantFunc- AuxPwr- NoSnoop+
                        MaxPayload 512 bytes, MaxReadReq 128 bytes
                LnkSta: Speed 32GT/s, Width x16

0000:3b:00.0 Ethernet controller [0200]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]
        Control: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+
        Capabilities: [60] Express (v2) Endpoint, IntMsgNum 0
                DevCap: MaxPayload 512 bytes, PhantFunc 0, Latency L0s unlimited, L1 unlimited
                        ExtTag+ AttnBtn- AttnInd- PwrInd- RBE+ FLReset+ SlotPowerLimit 75W TEE-IO-
                DevCtl: CorrErr- NonFatalErr+ FatalErr+ UnsupReq-
                        RlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-
                        MaxPayload 256 bytes, MaxReadReq 4096 bytes
                LnkCap: Port #0, Speed 32GT/s, Width x16, ASPM not supported
                LnkCtl: ASPM Disabled; RCB 64 bytes, LnkDisable- CommClk+
                LnkSta: Speed 16GT/s (downgraded), Width x8 (downgraded)
                        TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
                DevCap2: Completion Timeout: Range ABC, TimeoutDis+ NROPrPrP- LTR-
                         10BitTagComp+ 10BitTagReq+ OBFF Not Supported, ExtFmt- EETLPPrefix-
                DevCtl2: Completion Timeout: 65ms to 210ms, TimeoutDis-
                         AtomicOpsCtl: ReqEn+
                         IDOReq- IDOCompl- LTR- EmergencyPowerReductionReq-
                         10BitTagReq- OBFF Disabled, EETLPPrefixBlk-
        Capabilities: [100 v1] Advanced Error Reporting
                AERCap: First Error Pointer: 04, ECRCGenCap+ ECRCGenEn+ ECRCChkCap+ ECRCChkEn+

0000:5e:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd Device [144d:a80a]
        Control: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+
        Capabilities: <access denied>
"""


def parse(text: str) -> Tree:
    """The machine of a text."""
    return read_lspci(text, "lspci.txt")


def test_finds_a_device_by_link_slot_and_ids() -> None:
    functions = parse(PRESENT)
    for device in (None, "3b:00.0", "0000:3b:00.0", "15b3:1021", "15B3:1021"):
        assert find(functions, device).slot == "0000:3b:00.0"


def test_reads_the_negotiated_link_not_the_supported_one() -> None:
    link = link_of(find(parse(PRESENT)))
    assert (link.generation, link.lanes) == (4, 8)
    assert (link.mps_bytes, link.mrrs_bytes, link.rcb_bytes) == (256, 4096, 64)
    assert link.ecrc


def test_flit_mode_stays_at_lower_rates() -> None:
    def link(state: str) -> tuple[int, bool]:
        text = PRESENT.replace(
            "                DevCap2: Completion",
            f"                LnkSta2: {state}\n                DevCap2: Completion",
        )
        found = link_of(find(parse(text)))
        return found.generation, found.flit

    assert (link("Flit+"), link("Flit-"), link("")) == ((4, True), (4, False), (4, False))


@pytest.mark.parametrize(("speed_gtps", "generation", "flit"), [(32, 5, False), (64, 6, True)])
def test_a_link_at_64_gtps_is_in_flit_mode(speed_gtps: int, generation: int, flit: bool) -> None:
    found = link_of(find(parse(PRESENT.replace("Speed 16GT/s", f"Speed {speed_gtps}GT/s"))))
    assert (found.generation, found.flit) == (generation, flit)


def test_ecrc_of_completions_is_that_of_the_root_port() -> None:
    """Not of a switch's ports, nor of another root port, though both append one."""

    def block(slot: str, kind: str, secondary: str | None, ecrc: str) -> str:
        buses = f"        Bus: primary=00, secondary={secondary}, subordinate=ff\n" if secondary else ""
        return (
            f"{slot} PCI bridge: Somebody Device 1234\n        Control: BusMaster+\n{buses}"
            f"        Capabilities: [40] Express (v2) {kind}, MSI 00\n"
            "                DevCtl: MaxPayload 256 bytes, MaxReadReq 512 bytes\n"
            "                LnkSta: Speed 8GT/s, Width x8\n"
            "        Capabilities: [100 v1] Advanced Error Reporting\n"
            f"                AERCap: CGenEn{ecrc} ChkEn-\n\n"
        )

    def link_below(ecrc: str, other: str) -> tuple[str | None, bool, bool | None]:
        text = (
            block("00:01.0", "Root Port (Slot+)", "01", other)
            + block("00:02.0", "Root Port (Slot+)", "02", ecrc)
            + block("02:00.0", "Upstream Port", "03", "+")
            + block("03:08.0", "Downstream Port (Slot+)", "04", "+")
            + block("04:00.0", "Endpoint", None, "-")
        )
        functions = parse(text)
        card = find(functions, "04:00.0")
        port = root_port(functions, card)
        link = link_of(card, port)
        return port.slot if port else None, link.ecrc, link.root_port_ecrc

    assert link_below("+", "-") == ("0000:00:02.0", False, True)
    assert link_below("-", "+") == ("0000:00:02.0", False, None)
    # The port is missing from this text.
    card = find(parse(PRESENT))
    assert root_port(parse(PRESENT), card) is None
    assert link_of(card).root_port_ecrc is None


def test_tags_follow_the_enabled_width() -> None:
    assert link_of(find(parse(PRESENT))).tags == 256
    assert link_of(find(parse(PRESENT.replace("10BitTagReq- OBFF", "10BitTagReq+ OBFF")))).tags == 768
    assert link_of(find(parse(PRESENT.replace("RlxdOrd+ ExtTag+", "RlxdOrd+ ExtTag-")))).tags == 32


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("99:00.0", "not in this text"),
        ("8086:0000", "ConnectX-7"),
        ("5e:00.0", "run lspci -vvv as root"),
    ],
)
def test_explains_a_missing_device_or_register(device: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        link_of(find(parse(PRESENT), device))
    assert expected in str(caught.value)


def test_ids_of_several_functions_ask_for_the_slot() -> None:
    twice = PRESENT + PRESENT.replace("3b:00.0", "3c:00.0")
    with pytest.raises(InputError, match=r"matches 2 functions.*3b:00\.0, 3c:00\.0"):
        find(parse(twice), "15b3:1021")


def test_refuses_a_link_that_is_down() -> None:
    with pytest.raises(InputError, match="lanes is 0"):
        link_of(find(parse(PRESENT.replace("Width x8", "Width x0")), "3b:00.0"))


@pytest.mark.parametrize("text", ["", "hello\nworld\n"])
def test_refuses_a_text_without_functions(text: str) -> None:
    with pytest.raises(InputError, match="lspci -vvv"):
        parse(text)


def test_a_skeleton_resolves_and_is_marked_uncalibrated(tmp_path: Path) -> None:
    made = skeleton(parse(PRESENT), "mine")
    path = tmp_path / "mine.toml"
    path.write_text(made.text, encoding="utf-8")
    resolved = resolve(str(path))
    assert resolved.system.link == link_of(find(parse(PRESENT)))
    assert not resolved.system.calibrated
    assert "UNCALIBRATED" in resolved.system.title
    assert (resolved.system.host.name, resolved.system.device.name) == ("gen5-server", "direct-dma")
    assert "[ConnectX-7]" in resolved.provenance["system"].source


def test_a_skeleton_takes_the_given_host_and_device(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    made = skeleton(parse(PRESENT), "mine", host="ib-e5-2620v2", card="nfp6000")
    path.write_text(made.text, encoding="utf-8")
    assert resolve(str(path)).system.host.sockets == 2
    with pytest.raises(InputError, match="no host profile is named 'e5'"):
        skeleton(parse(PRESENT), "mine", host="e5")
