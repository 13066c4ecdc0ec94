"""A first description of a machine, from what `lspci -vvv` says of one card in it.

The link is read; host and card are the nearest shipped ones, and where the buffer lies is assumed. So it resolves
and runs, and says of itself that nothing in it is calibrated.
"""

import json
from dataclasses import dataclass

from pcielab.lspci import Function, find, parse
from pcielab.profiles import read

_HOSTS = ((4, "gen5-server"), (1, "hsw-e5-2620v3"))
_CARD = "direct-dma"
_NFP6000 = "19ee:6000"


@dataclass(frozen=True)
class Skeleton:
    """The text of a system file, and what it was made of."""

    text: str
    function: Function
    host: str
    card: str


def skeleton(
    lspci_text: str, name: str, device: str | None = None, host: str | None = None, card: str | None = None
) -> Skeleton:
    """A system file from an `lspci -vvv` text.

    Args:
        lspci_text: Output of `lspci -vvv`, run as root.
        name: Name of the new system.
        device: Slot or `vendor:device` of the card; without it, the one with the fastest link.
        host: Host profile; without it, the shipped one nearest in age.
        card: Card profile; without it, the shipped one nearest in kind.

    Raises:
        InputError: The text does not show the card, or what is needed of it; or a profile does not exist.
    """
    function = find(parse(lspci_text), device)
    link = function.link()
    host = host or _newest(_HOSTS, link.generation)
    card = card or ("nfp6000" if function.matches(_NFP6000) else _CARD)
    read.locate("host", host)
    read.locate("device", card)
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
link = "LnkSta, DevCtl, DevCtl2, LnkCtl and AERCap of the card"
host = "assumption: a shipped profile"
device = "assumption: a shipped profile"
chunk_addresses = "assumption: four pieces above 4 GiB"
"""
    return Skeleton(text, function, host, card)


def _newest(choices: tuple[tuple[int, str], ...], generation: int) -> str:
    return next(name for least, name in choices if generation >= least)


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's, and control characters cannot get through."""
    return json.dumps(text, ensure_ascii=False)
