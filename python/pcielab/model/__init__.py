"""Closed-form bounds of a link, a host and a device, and which of them binds.

    >>> from pcielab import model
    >>> link = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
    >>> row = model.bandwidth(link, [64])[0]
    >>> row.write.bound
    'wire-upstream'

Sizes are in bytes, rates in Gb/s, times in ns. All results are modelled, not measured.
"""

from pcielab.on_demand import names_on_demand

__getattr__, __dir__ = names_on_demand(__name__, __file__)
