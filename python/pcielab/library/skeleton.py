"""A first description of a machine, from what `lspci -vvv` says of one card in it.

The link is read; host and card are the nearest shipped ones, and where the buffer lies is assumed. So it resolves
and runs, and says of itself that nothing in it is calibrated.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pcielab.errors import InputError
from pcielab.library.finding import profile_file
from pcielab.library.lspci import Function, find, parse
from pcielab.wording import shown

_HOSTS = ((16.0, "gen5-server"), (0.0, "hsw-e5-2620v3"))
"""The nearest profile, by the fastest link in GT/s that there could be."""
_NAMED_HOSTS = (
    (r"Xeon E3\b|Xeon E3-1200", "hsw-e3-1226v3"),
    (r"Xeon E5 v[34]\b|Haswell-E|Broadwell-E", "hsw-e5-2620v3"),
    (r"Xeon E5 v2\b|Ivytown", "ib-e5-2620v2"),
    (r"Xeon E5/Core i7", "snb-e5-2630"),
)
"""Names that the bridges and ports of measured processors have, and the host profile of each."""
_NFP6000 = "19ee:6000"
_SPEED_AND_WIDTH = re.compile(r"Speed (\d{1,3}(?:\.\d)?)GT/s.*?Width x(\d{1,2})\b")
_MOST_LETTERS = 200


@dataclass(frozen=True)
class Skeleton:
    """The text of a system file, and what it was made of."""

    text: str
    function: Function
    host: str
    host_reason: str
    """Why this host is the nearest."""
    card: str
    downgrade: str | None
    """What the card could do beyond the link that was negotiated, if anything."""


def skeleton(
    lspci_text: str, name: str, device: str | None = None, host: str | None = None, card: str | None = None
) -> Skeleton:
    """A system file from an `lspci -vvv` text.

    Args:
        lspci_text: Output of `lspci -vvv`, run as root.
        name: Name of the new system.
        device: Slot or `vendor:device` of the card; without it, an NFP-6000 if there is one, or else the one with
            the fastest link.
        host: Host profile; without it, the shipped one whose processor the text names, or else one of the age that
            the fastest link in the text tells of.
        card: Card profile; without it, the shipped one nearest in kind.

    Raises:
        InputError: The text does not show the card, or what is needed of it; or a profile does not exist.
    """
    if not (name.isprintable() and 1 <= len(name) <= _MOST_LETTERS):
        raise InputError(
            f"{shown(name)}: is no name of a system: give up to {_MOST_LETTERS} letters that can be printed"
        )
    functions = parse(lspci_text)
    function = find(functions, device or _known_card(functions))
    link = function.link()
    nearest, reason = _nearest_host(functions)
    host, reason = (host, "asked for") if host else (nearest, reason)
    card = card or ("nfp6000" if function.matches(_NFP6000) else "direct-dma")
    profile_file("host", host)
    profile_file("device", card)
    downgrade = _downgrade(function)
    link_note = "LnkSta, DevCtl, DevCtl2, LnkCtl and AERCap of the card" + (f"; {downgrade}" if downgrade else "")
    values = "\n".join(f"{key} = {json.dumps(value)}" for key, value in link.model_dump().items())
    text = f"""\
name = {_quoted(name)}
title = {_quoted(f"UNCALIBRATED: {name}, a skeleton made from lspci")}
calibrated = false

# The nearest shipped ones, not this machine: put your own here, or change single values in [set].
host = {_quoted(host)}
device = {_quoted(card)}

# Sockets of the card, of the buffer's memory, and of the control program.
device_socket = 0
memory_socket = 0
program_socket = 0
iommu = "off" # or "super-pages", "four-kib-pages"

# Where the host buffer lies: assumed. Its size is the number of pieces times chunk_bytes.
chunk_bytes = "64M"
chunk_addresses = [0x4_0000_0000, 0x4_0400_0000, 0x4_0800_0000, 0x4_0c00_0000]

[link]
{values}

# [set]
# "host.root_complex.read_ns" = 400

[provenance]
source = {_quoted(f"lspci -vvv: {function.slot} {function.title}")}
notes = "Only the link was read from this machine; everything else is assumed."

[provenance.keys]
link = {_quoted(link_note)}
host = {_quoted(f"assumption: a shipped profile ({reason})")}
device = "assumption: a shipped profile"
chunk_addresses = "assumption: four pieces above 4 GiB"
"""
    return Skeleton(text, function, host, reason, card, downgrade)


def _known_card(functions: Iterable[Function]) -> str | None:
    """Slot of the first card that a shipped profile is of."""
    return next((function.slot for function in functions if function.matches(_NFP6000)), None)


def _nearest_host(functions: Iterable[Function]) -> tuple[str, str]:
    """The nearest shipped host, and why: by the names of bridges and ports, or by the fastest link."""
    known = list(functions)
    titles = "\n".join(function.title for function in known)
    for pattern, host in _NAMED_HOSTS:
        if found := re.search(pattern, titles):
            return host, f"the text names {found[0]}"
    fastest = _fastest(known)
    return _newest(_HOSTS, fastest), f"the fastest link in the text could run at {fastest:g} GT/s"


def _fastest(functions: Iterable[Function]) -> float:
    """The highest speed of a lane that any function has or could have, GT/s."""
    registers = (function.registers.get(name, "") for function in functions for name in ("LnkCap", "LnkSta"))
    return max((_speed_and_width(text)[0] for text in registers), default=0.0)


def _downgrade(function: Function) -> str | None:
    """What the card could do beyond its link, in words."""
    could, does = (_speed_and_width(function.registers.get(name, "")) for name in ("LnkCap", "LnkSta"))
    if could[0] <= does[0] and could[1] <= does[1] and "(downgraded)" not in function.registers.get("LnkSta", ""):
        return None
    most = f", where the card could {could[0]:g} GT/s x{could[1]}" if could[1] else ""
    return f"the link is downgraded: it runs at {does[0]:g} GT/s x{does[1]}{most}"


def _speed_and_width(text: str) -> tuple[float, int]:
    found = _SPEED_AND_WIDTH.search(text)
    return (float(found[1]), int(found[2])) if found else (0.0, 0)


def _newest(choices: tuple[tuple[float, str], ...], speed: float) -> str:
    return next(name for least, name in choices if speed >= least)


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's, but for the control character that JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
