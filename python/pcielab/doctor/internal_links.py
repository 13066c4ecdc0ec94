"""Recognise links inside a chip or package: their registers are nominal, and no lanes leave the silicon.

AMD processors attach USB, SATA, the PSP and the DMA engines below *Internal PCIe GPP Bridges*. Both ends
report the full speed and width of the family (16 GT/s x16 in an EPYC) and the default MPS, whatever the
fabric below carries, and no setting there matters. Intel attaches the network controllers of its chipsets and
SoCs in the same way (Linux, `ixgbe`: bus type *internal*). A link is internal if one of these holds:

* the port is an internal bridge or a virtual switch port, by ID or by name;
* the device is a dummy function or an integrated network controller, by ID or by name;
* the port is a root port without a slot, both ends support x16, and the device has a function of AMD itself.
  This covers processors that the lists below do not have. Graphics cards have ATI's vendor ID, and chipsets
  have fewer lanes.

Endpoints that the PCI Express capability calls *integrated* have no link at all: the tree gives them none.
"""

import re
from functools import lru_cache

from pcielab.doctor.tree import Function, Link

_AMD, _HYGON, _INTEL = 0x1022, 0x1D94, 0x8086
_BRIDGES = {
    *((_AMD, device) for device in (0x1454, 0x1484, 0x14A7, 0x14B9, 0x14DD, 0x14EB)),
    *((_AMD, device) for device in (0x13E5, 0x13E6, 0x15DB, 0x15DC, 0x15FD, 0x15FE, 0x162A, 0x1635, 0x1648)),
    (_HYGON, 0x1454),
    # Switch of the C620 chipset, above its X722 and QuickAssist.
    *((_INTEL, device) for device in (0x37C0, 0x37C2, 0x37C3, 0x37C4, 0x37C5)),
}
_DEVICES = {
    *((_AMD, device) for device in (0x1455, 0x145A, 0x1485, 0x148A, 0x14AC, 0x14DE)),
    *((_HYGON, device) for device in (0x1455, 0x145A)),
    # X722, X552 and X553, E82x, I354.
    *((_INTEL, device) for device in (0x0DDA, 0x37CC, *range(0x37CE, 0x37D5))),
    *((_INTEL, device) for device in (*range(0x15AA, 0x15AF), 0x15B0, 0x15C2, 0x15C3, 0x15C4)),
    *((_INTEL, device) for device in (0x15C6, 0x15C7, 0x15C8, 0x15CE, 0x15E4, 0x15E5)),
    *((_INTEL, device) for device in (*range(0x124C, 0x1250), 0x151D, *range(0x188A, 0x188F))),
    *((_INTEL, device) for device in (*range(0x1890, 0x1895), *range(0x1897, 0x189B), 0x1F40, 0x1F41, 0x1F45)),
}
_BRIDGE_NAME = re.compile(r"\bInternal (?:PCIe )?GPP Bridge|\bvirtual switch port", re.IGNORECASE)
_DEVICE_NAME = re.compile(
    r"\bPCIe Dummy Function|\bReserved SPP\b|Intel Corporation Ethernet Connection (?:X722|X55[23]|E82[23]|I354)\b"
)
_NOMINAL_LANES = 16


def internal(link: Link) -> str | None:
    """Why a link is internal, as words for people; None if it is not, as far as its registers show."""
    port = link.port
    if port is not None and _is_internal_bridge(port):
        return "it is inside the chip, below an internal bridge"
    if any(_is_internal_device(function) for function in link.functions):
        return "it is inside the chip: the device is integrated"
    if port is not None and _is_nominal(port, link):
        return "it is inside the chip: a root port without a slot, above a function of the processor"
    return None


def _is_internal_bridge(port: Function) -> bool:
    return (port.vendor_id, port.device_id) in _BRIDGES or _matches(_BRIDGE_NAME, port.title)


def _is_internal_device(function: Function) -> bool:
    return (function.vendor_id, function.device_id) in _DEVICES or _matches(_DEVICE_NAME, function.title)


def _is_nominal(port: Function, link: Link) -> bool:
    if port.kind != "root-port" or port.has_slot is not False or not _is_amd(port):
        return False
    ends = (port.link, link.device.link)
    full = all(end is not None and end.max_lanes == _NOMINAL_LANES for end in ends)
    return full and link.device.is_endpoint and any(map(_is_amd, link.functions))


def _is_amd(function: Function) -> bool:
    if function.vendor_id is not None:
        return function.vendor_id == _AMD
    return "Advanced Micro Devices, Inc. [AMD] " in function.title


# Cached because machines have many functions and few titles.
@lru_cache(maxsize=2048)
def _matches(pattern: re.Pattern[str], title: str) -> bool:
    return pattern.search(title) is not None
