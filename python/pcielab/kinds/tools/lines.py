"""The link of a tool's device, and the line of a NIC that perftest measured: its bound, and whether it is full."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pcielab._core import LINE_RATES_GBPS
from pcielab.kinds.line import Line, line_of_parameters
from pcielab.library.link import Link
from pcielab.library.usual_link import USUAL_MPS_BYTES, usual_mrrs_bytes
from pcielab.store.setup import link_parameters

_FULL = 0.97
"""Share of a known line's payload from which it is full."""
_ALIKE = (0.985, 1.002)
"""Shares of the payload of a usual line between which a value is taken for that of a full one."""
_LEAST_LINE_GBPS = 10.0


def link_of_tool(manifest: Mapping[str, Any]) -> Link | None:
    """The link that an import was given; None if its generation or width is unknown."""
    known = link_parameters(manifest)
    if known.get("generation") is None or known.get("lanes") is None:
        return None
    more = {key: known[key] for key in ("rcb_bytes", "ecrc") if known.get(key) is not None}
    mps_bytes = known.get("mps_bytes") or USUAL_MPS_BYTES
    return Link(
        generation=known["generation"],
        lanes=known["lanes"],
        mps_bytes=mps_bytes,
        mrrs_bytes=known.get("mrrs_bytes") or usual_mrrs_bytes(mps_bytes),
        **more,
    )


def line_of_test(parameters: Mapping[str, Any], given: Line | None) -> Line:
    """The line of a test: as given, and as its output says."""
    own = line_of_parameters(parameters)
    return own if given is None else given.beside(own)


def line_bound_gbps(parameters: Mapping[str, Any], given: Line | None) -> float | None:
    """What the line carries of a test, Gb/s, both ways where its value counts both; None: unknown."""
    rate = line_of_test(parameters, given).payload_gbps(parameters.get("size_bytes"))
    return None if rate is None else rate * _directions(parameters)


def full_line(parameters: Mapping[str, Any], value_gbps: float, given: Line | None = None) -> str | None:
    """What to say of a line that is full, or that would be if it had a usual rate; None: it is not.

    Args:
        parameters: Of a test of perftest.
        value_gbps: Its rate.
        given: What is known of the line.
    """
    line = line_of_test(parameters, given)
    if line.line_gbps is not None:
        bound = line_bound_gbps(parameters, given)
        is_full = bound is not None and value_gbps >= _FULL * bound
        words = line.words
        return f"{words[0].upper()}{words[1:]} is full" if is_full else None
    if line.protocol is None:
        return None
    low, high = _ALIKE
    for rate in LINE_RATES_GBPS:
        usual = replace(line, line_gbps=rate)
        payload = usual.payload_gbps(parameters.get("size_bytes"))
        if rate >= _LEAST_LINE_GBPS and payload and low <= value_gbps / _directions(parameters) / payload <= high:
            return f"This is what {usual.words} carries (give --line to be sure)"
    return None


def _directions(parameters: Mapping[str, Any]) -> int:
    return 2 if parameters.get("counted") == "both" else 1
