"""Back ends: the devices that run tests, the protocols for new ones, and the contract that all of them keep.

    >>> import pcielab
    >>> pcielab.run("cpu", device="cpu", output="cpu.db")

A back end in Python is a class with the methods of `Backend`, which opens a `Device` and a `Host`. Packages
register theirs in the entry-point group `pcielab.devices` (see docs/guides/add-a-device.md).
"""

from pcielab.on_demand import names_on_demand

__getattr__, __dir__ = names_on_demand(__name__, __file__)
