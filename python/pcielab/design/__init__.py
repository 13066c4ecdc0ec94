"""Design: the cheapest device that meets its targets on these hosts.

`design` solves a design file, as `pcielab design` does; `attack` finds the corners of a device on a host.
"""

from pcielab.on_demand import names_on_demand

__getattr__, __dir__ = names_on_demand(__name__, __file__)
