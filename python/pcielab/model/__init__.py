"""What a link, a host and a device should give, in closed form, and which bound binds.

    >>> from pcielab import model
    >>> link = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
    >>> row = model.bandwidth(link, [64])[0]
    >>> row.write.bound
    'wire-upstream'

Sizes are in bytes, rates in Gb/s, times in ns. Everything is modelled, nothing measured.
"""

from pcielab.model.answers import Answer, Bandwidth, Ceiling, NicThroughput, PathSizing, Sizing
from pcielab.model.nic import NicProfile, Step, load_nic, shipped_nics
from pcielab.model.questions import Accounting, Ethernet, Gap, Limits, Link, bandwidth, nic, sizing

__all__ = [
    "Accounting",
    "Answer",
    "Bandwidth",
    "Ceiling",
    "Ethernet",
    "Gap",
    "Limits",
    "Link",
    "NicProfile",
    "NicThroughput",
    "PathSizing",
    "Sizing",
    "Step",
    "bandwidth",
    "load_nic",
    "nic",
    "shipped_nics",
    "sizing",
]
