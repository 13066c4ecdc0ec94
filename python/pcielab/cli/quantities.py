"""Sizes and ranges on the command line are those of `pcielab.quantities`."""

from pcielab.quantities import parse_bytes, parse_range

__all__ = ["parse_bytes", "parse_range"]
