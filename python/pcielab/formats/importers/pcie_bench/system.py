"""Facts about device and host from the recorded `sys-*.txt` files; missing ones are left out.

The texts are kept as attachments; `pcielab.formats.published` has the facts that all published runs share.
"""

import re
from typing import Any

from pcielab.formats.published import Timer
from pcielab.library.lspci import speed_and_width

CARD = re.compile(r"^[0-9a-f:.]+ .*Netronome Systems, Inc\. Device 6000\b.*\n(?:[ \t]+.*\n?)*", re.MULTILINE)
"""The measured card's block of `lspci -vvv`. Some machines hold another Netronome card, too."""


def device_facts(texts: dict[str, str], name: str, timer: Timer) -> dict[str, Any]:
    """The device: name, timer, its link as `lspci` shows it, its board."""
    card = CARD.search(texts.get("sys-lspci.txt", ""))
    lspci = card[0] if card else ""
    speed_gtps, lanes = speed_and_width(_find("LnkSta:(.*)", lspci, str) or "")
    link = {
        "rate_gtps": speed_gtps or None,
        "lanes": lanes or None,
        "mps_bytes": _find(r"DevCtl:(?:.*\n)*?.*MaxPayload (\d{1,5}) bytes", lspci, int),
        "mrrs_bytes": _find(r"MaxReadReq (\d{1,5}) bytes", lspci, int),
        "rcb_bytes": _find(r"RCB (\d{1,5}) bytes", lspci, int),
        "ecrc": _find(r"CGenEn([+-])", lspci, lambda sign: sign == "+"),
    }
    board = _find(r"^assembly\.partno=(\S+)", texts.get("sys-nfp-hwinfo.txt", ""), str)
    return {"name": name, "timer": timer.manifest()} | _known({"board": board, "link": _known(link)})


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
