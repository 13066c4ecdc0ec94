"""What a link, a host and a device should give, in closed form, and which bound binds.

    >>> from pcielab import model
    >>> link = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
    >>> row = model.bandwidth(link, [64])[0]
    >>> row.write.bound
    'wire-upstream'

Sizes are in bytes, rates in Gb/s, times in ns. Everything is modelled, nothing measured.
"""

from pcielab.model.answers import (
    Answer,
    Bandwidth,
    Ceiling,
    Crossing,
    Crossings,
    Loopback,
    Messages,
    NicThroughput,
    PathSizing,
    Sending,
    Sizing,
)
from pcielab.model.message_questions import crossings, loopback, messages
from pcielab.model.messages import MessageProfile, load_message_profile, shipped_message_profiles
from pcielab.model.nic import NicProfile, Step, load_nic, shipped_nics
from pcielab.model.questions import Accounting, Ethernet, Gap, Limits, Link, bandwidth, nic, sizing

__all__ = [
    "Accounting",
    "Answer",
    "Bandwidth",
    "Ceiling",
    "Crossing",
    "Crossings",
    "Ethernet",
    "Gap",
    "Limits",
    "Link",
    "Loopback",
    "MessageProfile",
    "Messages",
    "NicProfile",
    "NicThroughput",
    "PathSizing",
    "Sending",
    "Sizing",
    "Step",
    "bandwidth",
    "crossings",
    "load_message_profile",
    "load_nic",
    "loopback",
    "messages",
    "nic",
    "shipped_message_profiles",
    "shipped_nics",
    "sizing",
]
