"""Texts as people paste them: mangled, partial, doubled, in other forms. Each is read, or its loss is named.

No register may be shown under another function than its own: the last tests shuffle and mangle whole machines.
"""

import html
import json
import os
import random
from pathlib import Path

import pytest

import made_text as made
from pcielab.doctor import Examination, Severity, Tree, examine, machine_of_text
from pcielab.doctor.examine import branches
from pcielab.doctor.tree import UNNAMED_DOMAIN
from pcielab.errors import InputError

SLOW = {"cap": "Speed 8GT/s, Width x4", "sta": "Speed 2.5GT/s (downgraded), Width x1 (downgraded)"}
FULL = {"cap": "Speed 8GT/s, Width x4", "sta": "Speed 8GT/s (ok), Width x4 (ok)"}
PORT, DRIVE = made.root("00:1c.0", "01", **SLOW), made.drive(**SLOW)
TEXT = made.text(PORT, DRIVE)
LISTED = "00:1c.0 PCI bridge: Example Root Port\n01:00.0 Non-Volatile memory controller: Example Drive\n"
LSPCI = "user@host:~$ sudo lspci -vvv -s"
AFTER = made.text(made.root("00:1c.0", "01", **FULL), made.drive(**FULL))


def read(text: str) -> Tree:
    return machine_of_text(text, "pasted.txt")


def seen(examination: Examination) -> set[tuple[str, str]]:
    return {(one.rule, str(one.device).removeprefix("0000:")) for one in examination.findings}


def is_slow_drive(text: str) -> bool:
    return ("below-both-ends", "01:00.0") in seen(examine(read(text)))


def _lines(prefix: str, text: str = TEXT) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


MANGLED = {
    "as printed": TEXT,
    "bars": _lines("| "),
    "comment signs": _lines("# "),
    "a prompt before a header": f"[root@node07 ~]# {TEXT}",
    "upper case slots": TEXT.replace("00:1c.0", "00:1C.0"),
    "HTML": html.escape(TEXT),
    "HTML with tags": f"<pre>{html.escape(TEXT)}</pre>",
    "escapes of JSON": json.dumps(TEXT)[1:-1],
    "line numbers": "".join(f"{number:6}\t{line}\n" for number, line in enumerate(TEXT.splitlines(), start=1)),
    "line ends of old systems": TEXT.replace("\n", "\r"),
    "one line": " ".join(TEXT.split()),
    "blank lines between lines": TEXT.replace("\n", "\n\n"),
    "colours of a terminal": TEXT.replace("Speed", "\x1b[1mSpeed\x1b[0m"),
    "wide blanks": TEXT.replace(" ", "\u2003"),
    "domains on some": TEXT.replace("01:00.0 Non", "0000:01:00.0 Non"),
    "the other order": made.text(DRIVE, PORT),
    "two commands": f"{LSPCI} 00:1c.0\n{PORT}\n{LSPCI} 01:00.0\n{DRIVE}",
    "a list before": f"{LISTED}\n{TEXT}",
    "a list of numbers before": f"00:1c.0 0604: 8086:1234\n01:00.0 0108: 144d:a80a\n\n{TEXT}",
    "a list after": f"{TEXT}\n{LISTED}",
    "prose around": f"Hello, my drive is slow:\n\n{TEXT}\nWhat can I do?\n",
    "the same twice": f"{TEXT}\n{TEXT}",
    "paths (-PP)": TEXT.replace("01:00.0 Non", "00:1c.0/01:00.0 Non"),
    "paths (-P)": TEXT.replace("01:00.0 Non", "00:1c.0/00.0 Non"),
    "a wrapped header": TEXT.replace("controller: Example", "controller:\nExample"),
}  # fmt: skip


@pytest.mark.parametrize("name", MANGLED)
def test_the_way_of_pasting_does_not_hide_the_fault(name: str) -> None:
    tree = read(MANGLED[name])
    assert is_slow_drive(MANGLED[name]), tree.unseen
    assert len(tree.functions) == 2
    assert tree.unseen == ()


def test_registers_after_a_path_belong_to_the_last_function_of_it() -> None:
    """`lspci -PP` writes the path before the slot; an unrelated function stands before it."""
    other = "00:1f.5 Serial bus controller: Example SPI Controller\n"
    tree = read(f"{PORT}\n{other}\n00:1c.0/{DRIVE}")
    controller, drive = tree.function("0000:00:1f.5"), tree.function("0000:01:00.0")
    assert controller is not None
    assert (controller.link, controller.control) == (None, None)
    assert drive is not None
    assert drive.link is not None
    assert drive.link.lanes == 1


@pytest.mark.parametrize("text", [f"{TEXT}\nafter the fix:\n\n{AFTER}", f"{AFTER}\nthen:\n\n{TEXT}"])
def test_two_states_are_compared_and_the_fault_is_found_in_either(text: str) -> None:
    examination = examine(read(text))
    assert ("readings-differ", "01:00.0") in seen(examination)
    assert ("below-both-ends", "01:00.0") in seen(examination)
    note = next(
        one for one in examination.findings if one.rule == "readings-differ" and one.device == "0000:01:00.0"
    )
    assert "2.5 GT/s x1" in note.what
    assert "8 GT/s x4" in note.what


def test_a_difference_of_two_files_is_two_states() -> None:
    changed = [(" " if one == other else "-", "+", one, other)
               for one, other in zip(AFTER.splitlines(), TEXT.splitlines(), strict=True)]  # fmt: skip
    lines = [f"{sign}{one}\n" + ("" if sign == " " else f"{plus}{other}\n") for sign, plus, one, other in changed]
    examination = examine(read("--- good\n+++ bad\n@@ -1,30 +1,30 @@\n" + "".join(lines)))
    assert ("readings-differ", "01:00.0") in seen(examination)
    assert ("below-both-ends", "01:00.0") in seen(examination)


GREP = "LnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L1\n\t\tLnkSta:\tSpeed 2.5GT/s, Width x1\n"


@pytest.mark.parametrize("command", ["$ sudo lspci -vvv -s 01:00.0 | grep Lnk\n", ""])
def test_the_registers_of_one_device_are_judged_as_far_as_they_go(command: str) -> None:
    tree = read(f"{command}\t\t{GREP}")
    [found] = examine(tree).findings
    assert found.rule == "port-not-shown"
    assert "2.5 GT/s x1; the device supports 8 GT/s x4" in found.what
    assert (found.device == "0000:01:00.0") == bool(command)


def test_a_lost_header_gives_its_registers_to_no_other_function() -> None:
    lost = TEXT.replace("01:00.0 Non-Volatile memory controller: Example Drive\n", "")
    tree = read(lost)
    port = tree.function("0000:00:1c.0")
    assert port is not None
    assert port.kind == "root-port"
    assert [one.slot.startswith(UNNAMED_DOMAIN) for one in tree.functions] == [False, True]
    assert any(note.startswith("the slot of 1 function") for note in tree.unseen)


def test_a_port_without_its_header_is_compared_by_its_buses() -> None:
    """Mail may lose the header of a port and show it twice; its buses tell that it is one."""
    bodies = [str(port).partition("\n")[2] for port in (made.root(**FULL), made.root(**SLOW))]
    examination = examine(read("When it works:\n\n" + "\n\nIn the kernel:\n\n".join(bodies)))
    assert {one.rule for one in examination.findings} == {"port-alone", "readings-differ"}
    assert any("8 GT/s x4, then 2.5 GT/s x1" in one.what for one in examination.findings)


def _hex(space: bytes) -> str:
    return "".join(
        f"{offset:02x}: {space[offset : offset + 16].hex(' ')}\n" for offset in range(0, len(space), 16)
    )


@pytest.mark.parametrize("length", [256, 4096])
def test_a_hex_dump_is_decoded(length: int) -> None:
    from made_machine import Made

    link = {"speeds": (8.0, 2.5), "lanes": (4, 1)}
    port = Made("0000:00:01.0", "root-port", (0x8086, 0x352A), 0x0604, buses=(1, 1), **link)
    text = f"00:01.0 PCI bridge: Port\n{_hex(port.config()[:length])}\n"
    text += f"01:00.0 Ethernet controller: NIC\n{_hex(Made('0000:01:00.0', **link).config()[:length])}"
    tree = read(text)
    assert ("below-both-ends", "01:00.0") in seen(examine(tree))
    assert [piece.form for piece in tree.pieces] == ["hex dump of lspci"]


def test_all_ones_are_the_worst_finding() -> None:
    ones = "01:00.0 3D controller: Example (rev ff) (prog-if ff)\n\t!!! Unknown header type 7f\n"
    decoded = made.drive(cap="Speed unknown, Width x63", sta="Speed unknown, Width x63, TrErr+ Train+ SlotClk+")
    for gone in (ones, str(decoded)):
        first = examine(read(f"{made.root()}\n{gone}")).findings[0]
        assert (first.rule, first.severity, first.device) == ("device-off-bus", Severity.ERROR, "0000:01:00.0")


DRAWING = r"""-[0000:00]-+-00.0  Example Host Bridge
           +-1c.0-[01]----00.0  Example Drive
           \-1d.0-[02-04]--+-00.0  Example NIC
                           \-00.1  Example NIC
"""
MATRIX = "\tGPU0\tGPU1\tNIC0\nGPU0\t X \tSYS\tPIX\nGPU1\tSYS\t X \tNV4\nNIC0\tPIX\tNV4\t X \n"
LOG = "[    3.1] nvme 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)\n"


def test_a_drawing_of_the_buses_shows_what_is_below_which_port() -> None:
    tree = read(DRAWING)
    depths = {one.slot: one.depth for one in branches(tree)}
    assert (depths["0000:00:1c.0"], depths["0000:01:00.0"]) == (0, 1)
    assert {one.slot for one in tree.functions} >= {"0000:00:00.0", "0000:02:00.0", "0000:02:00.1"}
    assert any("lspci -t" in note for note in tree.unseen)


def test_a_matrix_shows_how_devices_reach_each_other() -> None:
    tree = read(MATRIX)
    assert {(one.kind, *one.ends, one.links) for one in tree.peers} == {
        ("sys", "GPU0", "GPU1", None),
        ("pix", "GPU0", "NIC0", None),
        ("nvlink", "GPU1", "NIC0", 4),
    }
    assert any("nvidia-smi topo -m" in note for note in tree.unseen)


def test_a_log_beside_registers_is_evidence_for_them() -> None:
    aspm = {"aspm": "ASPM L1 Enabled"}
    machine = made.text(made.root(**aspm), made.drive(**aspm))
    assert examine(read(machine)).findings[0].rule == "aspm-on"
    first = examine(read(f"{machine}\n{LOG}")).findings[0]
    assert (first.rule, first.severity) == ("errors-with-aspm", Severity.WARNING)
    assert any("severity=Corrected" in sign for sign in first.explained)


def test_a_line_of_a_log_names_the_function_before_a_colon() -> None:
    """A driver writes a colon after the slot; of a port with several functions, each has events of its own."""
    lines = [
        "pcieport 0000:40:01.1: DPC: containment event, status:0x1f01",
        "aer 0000:40:01.2:pcie004: AER: Corrected error",
    ]
    assert [event.slot for event in read("\n".join(lines)).log] == ["0000:40:01.1", "0000:40:01.2"]


def test_a_bar_that_got_its_space_later_is_no_finding() -> None:
    failed = "pci 0000:01:00.0: BAR 0 [mem size 0x400000000 64bit pref]: can't assign; no space\n"
    later = "pci 0000:01:00.0: BAR 0 [mem 0x4000000000-0x43ffffffff 64bit pref]: assigned\n"
    assert seen(examine(read(failed))) == {("bar-without-space", "01:00.0")}
    assert seen(examine(read(f"{TEXT}\n{failed}{later}"))) == seen(examine(read(TEXT)))
    ports = "pci 0000:00:01.0: BAR 13 [io  size 0x1000]: can't assign; no space\n"
    assert seen(examine(read(f"{TEXT}\n{ports}"))) == seen(examine(read(TEXT)))


REFUSED = {
    "": "it is empty",
    "sh: lspci: command not found": "a shell's error message",
    "\0\0\0": "binary data",
    "  *-pci\n   description: Host bridge\n   bus info: pci@0000:00:00.0\n": "the output of lshw",
    "Bus 001 Device 002: ID 1d6b:0002 Linux Foundation 2.0 root hub\n": "the output of lsusb",
    "Settings for eth0:\n\tSpeed: 1000Mb/s\n": "the output of ethtool",
    "<!DOCTYPE html><html></html>": "document type",
    "[    0.000000] Linux version 6.1\n[    0.000001] Command line: quiet\n": "a kernel log without a message",
    '{"lshw": 1}': "not a saved tree",
    "<node id='x'/>": "it looks like XML",
    "My drive is slow, help!\n": "it starts with",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_names_the_form_that_it_saw(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert REFUSED[text] in str(caught.value)


# Whole machines, shuffled and mangled.
_TEXTS = Path(__file__).parent / "lspci_texts"
_SAMPLE = 40
_NEEDED = ("DevCap:", "DevCtl:", "LnkCap:", "LnkSta:")
"""Registers that every function with a link has, so that their loss shows."""
_TRIED = int(os.environ.get("PCIELAB_READINGS", _SAMPLE))


def _mangled(draw: random.Random, blocks: list[str]) -> str:
    """The blocks in another order, with a header or register lost, and pasted in some way."""
    blocks = draw.sample(blocks, len(blocks))
    if draw.random() < 0.5:
        number = draw.randrange(len(blocks))
        lines = blocks[number].splitlines()
        needed = [at for at, line in enumerate(lines) if line.strip().startswith(_NEEDED)]
        del lines[draw.choice([0, *needed])]
        blocks[number] = "\n".join(lines)
    text = ("\n\n" if draw.random() < 0.8 else "\n").join(blocks) + "\n"
    ways = (
        lambda text: text,
        lambda text: _lines("> ", text),
        lambda text: _lines("| ", text),
        lambda text: text.replace("\t", " "),
        lambda text: text.expandtabs(),
        lambda text: html.escape(text),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: f"user@host:~$ lspci -vvv\n{text}user@host:~$ ",
        lambda text: "".join(f"{line}\n" + ("\n" if line.strip() else "") for line in text.splitlines()),
    )
    return str(draw.choice(ways)(text))


def _shown(tree: Tree) -> dict[str, tuple[object, ...]]:
    return {one.slot: (one.kind, one.link, one.control, one.errors, one.acs_enabled) for one in tree.functions}


def test_shuffled_and_mangled_machines_keep_their_registers_or_name_the_loss() -> None:
    """A register that is shown is that of its function; the rest is in `unseen`, or the findings are the same."""
    texts = {path.name: path.read_text() for path in sorted(_TEXTS.glob("*.txt"))}
    whole = {name: read(text) for name, text in texts.items()}
    for number in range(_TRIED):
        draw = random.Random(number)
        name = draw.choice(sorted(texts))
        tree = read(_mangled(draw, texts[name].strip().split("\n\n")))
        known = _shown(whole[name])
        for slot, values in _shown(tree).items():
            for value, true in zip(values, known.get(slot, (None,) * 5), strict=True):
                assert value is None or slot.startswith("fffffffe") or _is_part(value, true), (number, name, slot)
        same = seen(examine(tree)) == seen(examine(whole[name]))
        assert same or tree.unseen, (number, name, seen(examine(tree)) ^ seen(examine(whole[name])))


def _is_part(value: object, true: object) -> bool:
    """Whether every field that is shown has the value that the whole text shows."""
    if not hasattr(value, "model_fields_set") or true is None:
        return value == true
    return all(shown in (None, ()) or shown == getattr(true, key) for key, shown in dict(value).items())  # type: ignore[call-overload]
