"""Draft a system profile of one device of a machine.

The link is the machine's; host and device are the nearest shipped profiles, and the buffer's addresses are
assumed. The draft resolves and runs, and is marked as uncalibrated.
"""

import json
import re
from dataclasses import dataclass

from pcielab.doctor.devices import find, link_of, matches, root_port
from pcielab.doctor.tree import Function, Tree, short
from pcielab.errors import refusal
from pcielab.library.lookup import profile_file
from pcielab.wording import shown

_HOSTS = ((16.0, "gen5-server"), (0.0, "hsw-e5-2620v3"))
"""The nearest profile, by the highest link speed in GT/s that the text shows."""
_NAMED_HOSTS = (
    (r"Xeon E3\b|Xeon E3-1200", "hsw-e3-1226v3"),
    (r"Xeon E5 v[34]\b|Haswell-E|Broadwell-E", "hsw-e5-2620v3"),
    (r"Xeon E5 v2\b|Ivytown", "ib-e5-2620v2"),
    (r"Xeon E5/Core i7", "snb-e5-2630"),
)
"""Names of bridges and ports of measured processors, and the host profile of each."""
_NFP6000 = "19ee:6000"
_MOST_LETTERS = 200


@dataclass(frozen=True)
class Skeleton:
    """The text of a system file, and its sources."""

    text: str
    function: Function
    host: str
    host_reason: str
    """Why this host is the nearest."""
    card: str
    downgrade: str | None
    """The negotiated and the supported link, if the link is downgraded."""


def skeleton(
    tree: Tree, name: str, device: str | None = None, host: str | None = None, card: str | None = None
) -> Skeleton:
    """A system file of a machine.

    Args:
        tree: The machine.
        name: Name of the new system.
        device: Slot or `vendor:device` of it; without it, an NFP-6000 if the machine has one, otherwise the device
            with the fastest link.
        host: Host profile; without it, the shipped one of the processor that titles name, otherwise one of the
            generation of the fastest link.
        card: Device profile; without it, the nearest shipped one.

    Raises:
        InputError: The machine lacks the device or one of its registers, or a profile is missing.
    """
    if not (name.isprintable() and 1 <= len(name) <= _MOST_LETTERS):
        raise refusal(
            "malformed", f"{shown(name)}: is the system's name: give 1 to {_MOST_LETTERS} printable characters"
        )
    function = find(tree, device or _known_card(tree))
    link = link_of(function, root_port(tree, function))
    nearest, reason = _nearest_host(tree)
    host, reason = (host, "asked for") if host else (nearest, reason)
    card = card or ("nfp6000" if matches(function, _NFP6000) else "direct-dma")
    profile_file("host", host)
    profile_file("device", card)
    downgrade = _downgrade(function)
    link_note = "; ".join(filter(None, ["LnkSta, DevCtl, DevCtl2, LnkCtl, AERCap of the device", downgrade]))
    values = "\n".join(f"{key} = {json.dumps(value)}" for key, value in link.dump().items())
    text = f"""\
name = {_quoted(name)}
title = {_quoted(f"UNCALIBRATED: {name}, a skeleton made from lspci")}
calibrated = false

# The nearest shipped ones, not this machine: replace them, or change single values in [set].
host = {_quoted(host)}
device = {_quoted(card)}

# Sockets of the device, of the buffer's memory, and of the control program.
device_socket = 0
memory_socket = 0
program_socket = 0
iommu = "off" # or "super-pages", "four-kib-pages"

# Bus addresses of the host buffer: assumed. Its size is the number of pieces times chunk_bytes.
chunk_bytes = "64M"
chunk_addresses = [0x4_0000_0000, 0x4_0400_0000, 0x4_0800_0000, 0x4_0c00_0000]

[link]
{values}

# [set]
# "host.root_complex.read_ns" = 400

[provenance]
source = {_quoted(f"lspci -vvv: {short(function.slot)} {function.title}")}
notes = "Only the link was read from this machine; everything else is assumed."

[provenance.unmeasured]
host = "assumed"
device = "assumed"
chunk_addresses = "assumed"

[provenance.keys]
link = {_quoted(link_note)}
host = {_quoted(f"assumption: a shipped profile ({reason})")}
device = "assumption: a shipped profile"
chunk_addresses = "assumption: four pieces above 4 GiB"
"""
    return Skeleton(text, function, host, reason, card, downgrade)


def _known_card(tree: Tree) -> str | None:
    """Slot of the first device that has a shipped profile."""
    return next((function.slot for function in tree.functions if matches(function, _NFP6000)), None)


def _nearest_host(tree: Tree) -> tuple[str, str]:
    """The nearest shipped host with the reason: names of bridges and ports, or the fastest link."""
    titles = "\n".join(function.title for function in tree.functions)
    for pattern, host in _NAMED_HOSTS:
        if found := re.search(pattern, titles):
            return host, f"the text names {found[0]}"
    ends = [function.link for function in tree.functions if function.link is not None]
    fastest = max((speed or 0.0 for end in ends for speed in (end.max_speed_gtps, end.speed_gtps)), default=0.0)
    host = next(name for least, name in _HOSTS if fastest >= least)
    return host, f"the fastest link in the text supports {fastest:g} GT/s"


def _downgrade(function: Function) -> str | None:
    """The negotiated and the supported link in words, if the link is downgraded."""
    end = function.link
    if end is None or end.max_speed_gtps is None or not end.max_lanes or not end.is_up:
        return None
    assert end.speed_gtps is not None
    assert end.lanes is not None
    if end.max_speed_gtps <= end.speed_gtps and end.max_lanes <= end.lanes:
        return None
    most = f"the device supports {end.max_speed_gtps:g} GT/s x{end.max_lanes}"
    return f"the link is downgraded: it runs at {end.speed_gtps:g} GT/s x{end.lanes}; {most}"


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are valid in TOML, but JSON does not escape DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
