"""Line rates of devices that need little: they are content with fewer lanes than they have.

Boards wire one lane to a network controller of two ports at 1 Gb/s that supports two, and nothing is lost.
Rates come from the name of the device, or from its ID where there is no name.
"""

import re

from pcielab.doctor.tree import Function, Link, LinkEnd

_NETWORK = 0x02
_PAYLOAD_SHARE = 0.8
"""Share of the raw rate that is left for data, at the smallest MPS and with descriptors."""
_PCI_GBPS = 1.06
"""Conventional PCI of 32 bits at 33 MHz, the bus of the display of a BMC."""
_NAMED = re.compile(r"(?:(?<![\w.])(?P<rate>[\d./]+)[- ]?)?(?:Gigabit|GbE|GBASE)", re.IGNORECASE)
_FASTEST_GBPS = 400.0
_KNOWN = {
    **dict.fromkeys(((0x14E4, device) for device in (0x1639, 0x163B, 0x1655, 0x1656, 0x1657, 0x165F)), 1.0),
    **dict.fromkeys(((0x14E4, device) for device in (0x1682, 0x1686, 0x1687, 0x16B1)), 1.0),
    **dict.fromkeys(((0x8086, device) for device in (0x10A7, 0x10C9, 0x10D3, 0x10E6, 0x10E7, 0x150E)), 1.0),
    **dict.fromkeys(((0x8086, device) for device in (*range(0x1521, 0x1525), 0x1533, 0x1539, 0x157B)), 1.0),
    **dict.fromkeys(((0x8086, device) for device in (0x15F2, 0x15F3, 0x125B, 0x125C)), 2.5),
    (0x10EC, 0x8168): 1.0,
    (0x10EC, 0x8125): 2.5,
}


def needed_raw_gbps(link: Link) -> float | None:
    """Raw rate of a link that carries all that its device can use, one direction; None if that is unknown."""
    if link.device.kind == "pcie-to-pci-bridge":
        return _PCI_GBPS / _PAYLOAD_SHARE
    rates = [_line_rate_gbps(function) for function in link.functions]
    known = [rate for rate in rates if rate is not None]
    return sum(known) / _PAYLOAD_SHARE if known and len(known) == len(rates) else None


def carries_all(link: Link, end: LinkEnd) -> bool:
    """Whether the link, as it is, is known to carry all that its device can use."""
    needed = needed_raw_gbps(link)
    return needed is not None and end.raw_gbps >= needed


def _line_rate_gbps(function: Function) -> float | None:
    """Rate of the one port of a network function, Gb/s."""
    if function.base_class != _NETWORK:
        return None
    known = _KNOWN.get((function.vendor_id or 0, function.device_id or 0))
    found = _NAMED.search(function.name)
    if known is not None or found is None:
        return known
    try:
        rate = float(found["rate"] or 1)
    except ValueError:  # Several rates: 10/25.
        return None
    # `82576 Gigabit`: the number is the model.
    return rate if rate <= _FASTEST_GBPS else 1.0
