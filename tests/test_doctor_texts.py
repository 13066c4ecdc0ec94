"""Outputs of lspci: from old and new pciutils, without root, cut off, of two machines, of none."""

import textwrap
from pathlib import Path

import pytest

from pcielab.doctor import Examination, Tree, examine, read_lspci
from pcielab.errors import InputError

TEXTS = Path(__file__).parent / "lspci_texts"
# A modern server with many defects, as pciutils 3.9 prints its configuration space.
SERVER = (TEXTS / "pciutils-3.9.txt").read_text()
FINDINGS = {
    ("below-both-ends", "01:00.0"),  # ConnectX-7: 16 GT/s x8 of 32 GT/s x16
    ("mrrs-small", "01:00.0"),
    ("ten-bit-tags-off", "01:00.0"),
    ("relaxed-ordering-off", "01:00.0"),
    ("below-both-ends", "02:00.0"),  # a display at rest
    ("bar-not-resized", "02:00.0"),
    ("acs-redirects", "04:00.0"),
    ("mps-below-path", "06:00.0"),  # a drive at 256 of 512
    ("ecrc-on", "07:00.0"),
    ("completion-timeout-off", "07:00.0"),
    ("asleep", "07:00.0"),
    ("cxl-memory", "08:00.0"),
}


def read(text: str) -> Tree:
    return read_lspci(text, "lspci.txt")


def seen(examination: Examination) -> set[tuple[str, str]]:
    return {(one.rule, str(one.device).removeprefix("0000:")) for one in examination.findings}


@pytest.mark.parametrize("name", ["pciutils-3.9.txt", "pciutils-3.13.txt"])
def test_old_and_new_pciutils_give_the_same_findings(name: str) -> None:
    examination = examine(read((TEXTS / name).read_text()))
    assert seen(examination) == FINDINGS
    assert examination.unseen == ()


def quoted(text: str) -> str:
    return "Hello,\n\nhere it is:\n" + "".join(f"> {line}\n" for line in text.splitlines()) + "\nRegards\n"


def collapsed(text: str) -> str:
    """Runs of blanks and tabs as single blanks, as forums show them; nothing is left of the indentation."""
    return "".join(" ".join(line.split()) + "\n" for line in text.splitlines())


def wrapped(text: str) -> str:
    """Lines of at most 72 letters, as mail programs send them."""
    lines = (textwrap.wrap(line, 72, break_on_hyphens=False, break_long_words=False) for line in text.splitlines())
    return "".join("\n".join(parts) + "\n" for parts in lines)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        wrapped,
        lambda text: quoted(wrapped(text)),
        collapsed,
        lambda text: "".join(f" {line}\n" for line in collapsed(text).splitlines()),
        lambda text: text.replace("\t", " "),
        lambda text: text.replace("\t", "\xa0\xa0"),
        lambda text: f"Output:\n\n```text\n{text}```",
        lambda text: "".join(f"    {line}\n" for line in text.splitlines()),
        lambda text: "".join(f"    {line}\n" for line in text.expandtabs().splitlines()),
        lambda text: "".join(f"`{line}`\n" for line in text.splitlines()),
        quoted,
        lambda text: quoted(quoted(text)),
        lambda text: quoted(collapsed(text)),
        lambda text: "".join(f">{line}\n" for line in text.splitlines()),
        lambda text: "\ufeff" + text,
        lambda text: text.rstrip("\n"),
        lambda text: text.expandtabs(),
        lambda text: "some shell prompt $ lspci -vvv\n" + text,
        lambda text: (
            "\n".join(f"0000:{line}" if line[:1].isdigit() else line for line in text.splitlines()) + "\n"
        ),
    ],
    ids=[
        "line ends of Windows",
        "wrapped lines",
        "quoted, with wrapped lines",
        "no indentation",
        "one blank before each line",
        "one blank for a tab",
        "two odd blanks for a tab",
        "a code fence",
        "an indented code block",
        "the same with blanks for tabs",
        "backticks around lines",
        "a quoted mail",
        "quoted twice",
        "quoted without indentation",
        "quoted without blanks",
        "a byte order mark",
        "no last line end",
        "blanks for tabs",
        "a prompt before it",
        "with domains",
    ],
)
def test_findings_do_not_depend_on_how_the_text_was_copied(change: object) -> None:
    assert callable(change)
    examination = examine(read(change(SERVER)))
    assert seen(examination) == FINDINGS
    assert examination.unseen == ()


def without_root(text: str) -> str:
    """The output of lspci for users other than root: the header without capabilities."""
    lines: list[str] = []
    hidden = False
    for line in text.splitlines():
        if line.startswith("\tCapabilities:"):
            if not hidden:
                lines.append("\tCapabilities: <access denied>")
            hidden = True
        elif not (hidden and line.startswith("\t\t")):
            hidden = hidden and line.startswith("\tCapabilities")
            lines.append(line)
    return "\n".join(lines) + "\n"


def test_without_root_links_are_not_judged_and_a_note_says_why() -> None:
    examination = examine(read(without_root(SERVER)))
    assert seen(examination) == {("cxl-memory", "08:00.0")}  # its class is in the header
    [note] = examination.unseen
    assert "capabilities of 14 of 14 functions" in note
    assert "sudo lspci -vvv" in note


def test_the_note_on_a_text_without_registers_names_the_option() -> None:
    titles = "\n".join(line for line in SERVER.splitlines() if line[:1].isdigit()) + "\n"
    [note] = read(titles).unseen
    assert "line 1 and all others" in note
    assert "-vvv" in note


def test_the_note_on_a_cut_off_text_names_the_line() -> None:
    cut = SERVER[: SERVER.index("LnkSta", SERVER.index("07:00.0"))]
    examination = examine(read(cut))
    assert ("below-both-ends", "01:00.0") in seen(examination)
    assert any(
        f"line {len(cut.splitlines())}: the text ends inside 07:00.0" in note for note in examination.unseen
    )


def test_functions_cut_off_below_a_port_are_reported_missing() -> None:
    cut = SERVER[: SERVER.index("08:00.0 CXL")]
    assert any("functions below 0000:00:05.0" in note for note in read(cut).unseen)


ONE_CARD = SERVER[SERVER.index("01:00.0 Ethernet") : SERVER.index("02:00.0 3D")]


def test_one_device_is_judged_by_itself_and_the_port_is_missed() -> None:
    """`lspci -s 01:00` prints no port, so nothing is known about what the link could be."""
    examination = examine(read(ONE_CARD))
    assert seen(examination) == {("port-not-shown", "01:00.0"), ("mrrs-small", "01:00.0")}
    found = next(one for one in examination.findings if one.rule == "port-not-shown")
    assert "running at 16 GT/s x8; the device supports 32 GT/s x16, and the port may not" in found.what
    assert "cannot be judged" in found.what
    [note] = examination.unseen
    assert note.startswith("the port above 01:00.0: a link cannot be judged from one end")
    assert not examination.is_complete


def test_one_device_without_root_is_not_passed() -> None:
    examination = examine(read("41:00.0 Ethernet controller: Some NIC\n\tCapabilities: <access denied>\n"))
    assert not examination.is_complete


def test_a_device_that_does_not_answer_is_reported() -> None:
    gone = (
        "02:00.0 3D controller: NVIDIA Corporation GH100 (rev ff) (prog-if ff)\n\t!!! Unknown header type 7f\n\n"
    )
    text = SERVER[: SERVER.index("02:00.0 3D")] + gone + SERVER[SERVER.index("04:00.0 PCI") :]
    assert any(note.startswith("02:00.0: no answer") for note in read(text).unseen)


@pytest.mark.parametrize("register", ["DevCap", "DevCtl", "LnkCap", "LnkSta"])
def test_a_missing_register_is_reported_with_its_function(register: str) -> None:
    """A text that lacks registers in its middle must not pass for a healthy machine."""
    start, end = SERVER.index("02:00.0 3D"), SERVER.index("04:00.0 PCI")
    card = SERVER[start:end].replace(f"\t\t{register}:", f"\t\t{register[0].lower()}:")
    examination = examine(read(SERVER[:start] + card + SERVER[end:]))
    assert any(note.startswith("registers of 02:00.0") for note in examination.unseen)
    assert not examination.is_complete


def test_two_machines_in_one_text_are_not_mixed() -> None:
    other = SERVER.replace("[ConnectX-7]", "[ConnectX-8]")
    examination = examine(read(SERVER + other))
    assert seen(examination) == FINDINGS
    [note] = examination.unseen
    line = len(SERVER.splitlines()) + 1 + other[: other.index("[ConnectX-8]")].count("\n")
    assert f"line {line}: 01:00.0 has another name than in line" in note


def test_two_states_of_a_machine_are_compared() -> None:
    examination = examine(read(SERVER + SERVER.replace("Speed 16GT/s, Width x8", "Speed 32GT/s, Width x16")))
    differing = {one for one in seen(examination) if one[0] == "readings-differ"}
    assert seen(examination) - differing == FINDINGS
    assert ("readings-differ", "00:01.0") in differing
    assert examination.unseen == ()


@pytest.mark.parametrize("text", ["", "\n\n", "sh: lspci: not found", "\0\0\0"])
def test_a_text_without_functions_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"lspci\.txt: no PCI function in this text: .*sudo lspci -vvv"):
        read(text)


def test_virtual_functions_are_not_judged_by_bits_that_are_reserved() -> None:
    """A virtual function shows MPS 128, no relaxed ordering, and no link: its PF's settings count."""
    pf = SERVER[SERVER.index("01:00.0 Ethernet") : SERVER.index("01:00.1 Ethernet")]
    virtual = (
        pf.replace("01:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]",
                   "01:01.0 Ethernet controller: Mellanox Technologies ConnectX Family mlx5Gen Virtual Function")
        .replace("MaxPayload 512 bytes, MaxReadReq 512 bytes", "MaxPayload 128 bytes, MaxReadReq 128 bytes")
        .replace("LnkSta:\tSpeed 16GT/s, Width x8", "LnkSta:\tSpeed unknown, Width x0")
    )  # fmt: skip
    assert "Virtual Function" in virtual
    whole = SERVER.replace("01:00.1 Ethernet", f"{virtual}01:00.1 Ethernet")
    assert seen(examine(read(whole))) == FINDINGS


def test_serial_numbers_are_not_kept() -> None:
    assert "88-77-66-55-44-33-22-11" in SERVER
    kept = read(
        SERVER.replace("Kernel driver in use: nvidia", "\t[SN] Serial number: MT2116X12345")
    ).model_dump_json()
    assert "88-77" not in kept
    assert "MT2116X12345" not in kept


QEMU = """\
00:01.0 PCI bridge: Red Hat, Inc. QEMU PCIe Root port (prog-if 00 [Normal decode])
	Bus: primary=00, secondary=01, subordinate=01, sec-latency=0
	Capabilities: [54] Express (v2) Root Port (Slot+), MSI 00
		DevCap:	MaxPayload 128 bytes, PhantFunc 0
			ExtTag- RBE+
		DevCtl:	CorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
			RlxdOrd- ExtTag- PhantFunc- AuxPwr- NoSnoop-
			MaxPayload 128 bytes, MaxReadReq 128 bytes
		LnkCap:	Port #16, Speed 16GT/s, Width x32, ASPM L0s, Exit Latency L0s <64ns
		LnkSta:	Speed 16GT/s, Width x32

01:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]
	Control: I/O- Mem+ BusMaster+ SpecCycle-
	Capabilities: [60] Express (v2) Endpoint, MSI 00
		DevCap:	MaxPayload 512 bytes, PhantFunc 0, Latency L0s unlimited, L1 unlimited
			ExtTag+ AttnBtn- AttnInd- PwrInd- RBE+ FLReset+ SlotPowerLimit 0W
		DevCtl:	CorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
			RlxdOrd- ExtTag- PhantFunc- AuxPwr- NoSnoop+ FLReset-
			MaxPayload 128 bytes, MaxReadReq 512 bytes
		LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM not supported
		LnkSta:	Speed 16GT/s (downgraded), Width x8 (downgraded)

00:03.0 Ethernet controller: Amazon.com, Inc. Elastic Network Adapter (ENA)
	Capabilities: [70] Express (v2) Endpoint, MSI 00
		LnkCap:	Port #0, Speed 8GT/s, Width x16, ASPM not supported
		LnkSta:	Speed 2.5GT/s (downgraded), Width x1 (downgraded)
"""


def test_made_up_links_of_a_virtual_machine_are_not_judged() -> None:
    assert seen(examine(read(QEMU))) == {("made-up-link", "01:00.0"), ("made-up-link", "00:03.0")}


THUNDERBOLT = QEMU.replace("Red Hat, Inc. QEMU PCIe Root port", "Intel Corporation JHL7540 Thunderbolt 3 Bridge")


def test_a_tunnel_is_not_a_slow_link() -> None:
    assert ("made-up-link", "01:00.0") in seen(examine(read(THUNDERBOLT)))
    assert not any(rule == "below-both-ends" for rule, _ in seen(examine(read(THUNDERBOLT))))


def test_a_fast_drive_behind_the_chipset_is_reported() -> None:
    text = SERVER.replace("Intel Corporation Device 352a", "Intel Corporation Z790 Chipset PCIe Root Port", 4)
    assert ("chipset-slot", "06:00.0") in seen(examine(read(text)))
    assert not any(rule == "chipset-slot" for rule, _ in seen(examine(read(SERVER))))
