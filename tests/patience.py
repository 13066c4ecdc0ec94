"""How long tests wait for what does not come."""

HANGS_AFTER_SECONDS = 600.0
"""A process that runs for longer hangs, however busy the machine is."""
