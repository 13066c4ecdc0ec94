"""Name the form of a text that shows no PCI function, so that a refusal says what was given."""

import re

from pcielab.wording import named

_HEAD_LETTERS = 65_536
_SHOWN_LETTERS = 40
_FORMS = tuple(
    (form, re.compile(pattern, re.MULTILINE))
    for form, pattern in (
        ("binary data", r"\x00"),
        ("a shell's error message", r"(?:command )?not found$|Permission denied$|No such file or directory$"),
        ("the output of lshw", r"^\s*\*-\w+|bus info: pci@|\"id\" ?: ?\"\w+\".*\"class\" ?:"),
        ("the output of lstopo", r"^\s*(?:Machine \(|HostBridge|PCIBridge|<object type=)"),
        ("the output of nvidia-smi -q", r"^==============NVSMI LOG|GPU Link Info"),
        ("the table of nvidia-smi", r"NVIDIA-SMI \d"),
        ("the output of lsusb", r"^Bus \d{3} Device \d{3}: ID "),
        ("the output of lscpu", r"^(?:Architecture|CPU op-mode\(s\)): "),
        ("the output of dmidecode", r"^Handle 0x[0-9A-F]{4}, DMI type"),
        ("the output of ethtool", r"^Settings for |^\s*Supported link modes: "),
        ("the output of ibstat", r"^CA '\w+'|CA type: "),
        ("the output of inxi", r"^(?:System|Machine|Graphics|Network):$|^\s*Device-1: "),
        ("the output of hwinfo", r"^\d\d: PCI .*\[Created at"),
        ("a device tree", r"^/dts-v1/;|compatible = \""),
        ("the table of /proc/iomem", r"^\s*[0-9a-f]{8,16}-[0-9a-f]{8,16} : "),
        ("the output of fio", r"^\s*(?:read|write): IOPS="),
        ("the output of perftest", r"^ *#bytes +#iterations"),
        ("an HTML page", r"<!DOCTYPE html|<html\b"),
        ("a hex dump without the line that names its function", r"^[0-9a-f]{2,8}: (?:[0-9a-f]{2,4} ){4}"),
        ("a kernel log without a message about PCIe", r"^\[ *\d+\.\d{6}\] "),
        ("JSON", r"\A\s*[\[{]"),
        ("XML", r"\A\s*<[?!\w]"),
    )
)


def form_of(text: str) -> str:
    """The form of a text, as words for a message."""
    if not text.strip():
        return "it is empty"
    head = text[:_HEAD_LETTERS]
    form = next((form for form, pattern in _FORMS if pattern.search(head)), None)
    if form is not None:
        return f"it looks like {form}"
    first = next(line.strip() for line in head.split("\n") if line.strip())
    return f"it starts with {named(first[:_SHOWN_LETTERS])}"
