"""Where the numbers of a folder in the published format come from: our exports say so in a file."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcielab.doctor import read_lspci
from pcielab.doctor.devices import manifest_link, matches
from pcielab.errors import InputError, refusal
from pcielab.formats.importers.pcie_bench.text import read_text
from pcielab.formats.published import NFP6000_TIMER, ORIGIN_FILE, Timer


@dataclass(frozen=True)
class FolderOrigin:
    """Origin of the numbers of a folder, and the device: published ones were measured by an NFP-6000."""

    origin: str = "measured"
    device: str = "nfp6000"
    title: str | None = None
    timer: Timer = NFP6000_TIMER


def folder_origin(directory: Path) -> FolderOrigin:
    """What `ORIGIN.txt` of a folder says; without it, that of the published folders.

    Raises:
        InputError: The file lacks a key, or a value is wrong.
    """
    path = directory / ORIGIN_FILE
    if not path.is_file():
        return FolderOrigin()
    facts = dict(line.split(": ", 1) for line in read_text(path).splitlines() if ": " in line)
    try:
        return FolderOrigin(
            origin=facts["origin"],
            device=facts["device"],
            title=facts.get("title"),
            timer=Timer.of_texts(facts["tick_ns"], facts["tick_cycles"]),
        )
    except (KeyError, ValueError) as error:
        raise refusal(
            "missing",
            f"{path}: has no usable origin, device, tick_ns and tick_cycles: export the folder again, or delete "
            "this file",
        ) from error


_CARD = "19ee:6000"


def device_facts(texts: dict[str, str], name: str, timer: Timer) -> dict[str, Any]:
    """The device: name, timer, its link as `lspci` shows it, its board."""
    board = _find(r"^assembly\.partno=(\S+)", texts.get("sys-nfp-hwinfo.txt", ""), str)
    return {"name": name, "timer": timer.manifest()} | _known({"board": board, "link": _link(texts)})


def _link(texts: dict[str, str]) -> dict[str, Any]:
    """The known values of the measured card's link; without a text that shows the card, none."""
    try:
        tree = read_lspci(texts.get("sys-lspci.txt", ""), "sys-lspci.txt")
    except InputError:
        return {}
    card = next((one for one in tree.functions if matches(one, _CARD)), None)
    return {} if card is None else manifest_link(card)


def host_facts(texts: dict[str, str]) -> dict[str, Any]:
    """The host: processor, sockets, cache, memory, kernel, date of the measurement."""
    cpuinfo = texts.get("sys-cpuinfo.txt", "")
    sockets = set(re.findall(r"^physical id\s*:\s*(\d+)", cpuinfo, re.MULTILINE))
    return _known(
        {
            "processor": _find(r"^model name\s*:\s*(.+)", cpuinfo, str.strip),
            "sockets": len(sockets) or None,
            "llc_bytes": _find(r"^cache size\s*:\s*(\d{1,12}) KB", cpuinfo, lambda kib: int(kib) * 1024),
            "memory_bytes": _find(
                r"^MemTotal:\s*(\d{1,15}) kB", texts.get("sys-meminfo.txt", ""), lambda kib: int(kib) * 1024
            ),
            "kernel": _find(r"^Linux \S+ (\S+)", texts.get("sys-uname.txt", ""), str),
            "command_line": texts.get("sys-kernel-cmdline.txt", "").strip() or None,
            "buffer_bytes": _find(r"^(\d{1,18})\b", texts.get("sys-buf-sz.txt", ""), int),
            "measured": texts.get("sys-date.txt", "").strip() or None,
        }
    )


def _find(pattern: str, text: str, convert: Any) -> Any:
    found = re.search(pattern, text, re.MULTILINE)
    return convert(found[1]) if found else None


def _known(facts: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if value not in (None, {})}
