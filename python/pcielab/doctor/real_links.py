"""Select the links to judge: both ends shown, not inside a chip, not made up by a hypervisor or tunnel."""

import re
from collections.abc import Iterator
from functools import lru_cache

from pcielab.doctor.hardware import on_card_uplink
from pcielab.doctor.internal_links import internal
from pcielab.doctor.tree import Function, Link, Tree

_EMULATED_PORTS = {
    (0x1B36, 0x000C): "QEMU",
    (0x1B36, 0x000B): "QEMU",
    (0x15AD, 0x07A0): "VMware",
}
_EMULATED = re.compile(r"QEMU|VMware|VirtualBox|Parallels|Hyper-V|Red Hat, Inc\. |Virtio", re.IGNORECASE)
_NVIDIA = 0x10DE
_SUPERCHIPS = (0x2342, 0x2345, 0x2348, 0x2941)
_SUPERCHIP = re.compile(r"NVIDIA Corporation .*\b(?:GH200|GB200|GB300)\b")
_TUNNEL = re.compile(r"Thunderbolt|USB4|\bJHL\d|(Alpine|Titan|Maple|Goshen|Barlow) Ridge", re.IGNORECASE)


def made_up(tree: Tree, link: Link) -> str | None:
    """Why the registers do not describe a real link; None if they seem to.

    An endpoint on a root bus has no port above it, which hardware does not allow (PCIe 6.0, section 1.3.2): the
    machine is virtual, or the text is incomplete.
    """
    port, device = link.port, link.device
    for function in (port, device):
        if function is not None and _is_emulated(function):
            return f"{_short(function)} is made by a hypervisor"
    if any(_is_tunnel(function.title) for function in (port, device) if function is not None):
        return "it is tunnelled, so its ports report about 2.5 GT/s whatever the tunnel carries"
    if _is_superchip(device):
        return "its data cross NVLink-C2C, not this link"
    if port is None and device.is_endpoint and not tree.is_selection:
        hypervisor = tree.host.hypervisor
        if hypervisor:
            return f"the machine is virtual ({hypervisor}) and does not show the port above"
        return "the port above is hidden, as in a virtual machine, or the text is incomplete"
    return None


def not_judged(tree: Tree, link: Link) -> str | None:
    """Why a link is not judged: internal to a chip, nominal inside a card, or made up; None if it is."""
    on_card = "it is inside the card, and always reports this value" if on_card_uplink(tree, link) else None
    return internal(link) or on_card or made_up(tree, link)


def real_links(tree: Tree) -> Iterator[tuple[Link, Function]]:
    """Links that are up and judged, each with the port above."""
    for link in tree.links:
        end = link.device.link
        if link.port is not None and end is not None and end.is_up and not_judged(tree, link) is None:
            yield link, link.port


def real_cards(tree: Tree) -> Iterator[tuple[Link, Function]]:
    """Those of the real links with a device on the lower end, not a switch or bridge."""
    for link, port in real_links(tree):
        if _is_card(link.device):
            yield link, port


def cards(tree: Tree) -> Iterator[Link]:
    """The devices whose own settings are judged: those of `real_cards`, and those of a selection without ports."""
    if not tree.is_selection:
        yield from (link for link, _ in real_cards(tree))
        return
    for link in tree.links:
        end = link.device.link
        if end is not None and end.is_up and _is_card(link.device) and not_judged(tree, link) is None:
            yield link


def _is_card(device: Function) -> bool:
    return device.is_endpoint or (device.kind is None and device.secondary_bus is None)


def _is_emulated(function: Function) -> bool:
    return (function.vendor_id, function.device_id) in _EMULATED_PORTS or _names_a_hypervisor(function.title)


# Cached because machines have many functions and few titles.
@lru_cache(maxsize=1024)
def _names_a_hypervisor(title: str) -> bool:
    return _EMULATED.search(title) is not None


@lru_cache(maxsize=1024)
def _is_tunnel(title: str) -> bool:
    return _TUNNEL.search(title) is not None


def _is_superchip(device: Function) -> bool:
    known = device.vendor_id == _NVIDIA and device.device_id in _SUPERCHIPS
    return known or _SUPERCHIP.search(device.title) is not None


def _short(function: Function) -> str:
    return f"{function.slot.removeprefix('0000:')} ({function.name})"
