"""Closed-form bounds of a link, a host and a device, and which of them binds.

    >>> from pcielab import model
    >>> link = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
    >>> row = model.bandwidth(link, [64])[0]
    >>> row.write.bound
    'wire-upstream'

Sizes are in bytes, rates in Gb/s, times in ns. All results are modelled, not measured.
"""

from typing import TYPE_CHECKING

from pcielab.on_demand import names_on_demand

if TYPE_CHECKING:
    from pcielab.library.link import Link
    from pcielab.library.message_profiles import MessageProfile, load_message_profile, shipped_message_profiles
    from pcielab.library.nics import NicProfile, Step, load_nic, shipped_nics
    from pcielab.model.answers import (
        Answer,
        Bandwidth,
        Ceiling,
        Crossing,
        Crossings,
        LinkUse,
        Loopback,
        Messages,
        NicThroughput,
        PathSizing,
        Sending,
        Sizing,
    )
    from pcielab.model.link import Accounting, Ethernet, Gap, Limits
    from pcielab.model.message_questions import crossings, loopback, messages
    from pcielab.model.questions import bandwidth, nic, sizing

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
    "LinkUse",
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

__getattr__ = names_on_demand(
    __name__,
    {
        "pcielab.model.answers": [
            "Answer",
            "Bandwidth",
            "Ceiling",
            "Crossing",
            "Crossings",
            "LinkUse",
            "Loopback",
            "Messages",
            "NicThroughput",
            "PathSizing",
            "Sending",
            "Sizing",
        ],
        "pcielab.model.message_questions": ["crossings", "loopback", "messages"],
        "pcielab.library.message_profiles": ["MessageProfile", "load_message_profile", "shipped_message_profiles"],
        "pcielab.library.nics": ["NicProfile", "Step", "load_nic", "shipped_nics"],
        "pcielab.library.link": ["Link"],
        "pcielab.model.link": ["Accounting", "Ethernet", "Gap", "Limits"],
        "pcielab.model.questions": ["bandwidth", "nic", "sizing"],
    },
)
