"""What is assumed of a link where nobody says: one value for every answer, which names it."""

USUAL_MPS_BYTES = 256
"""What servers set, and what GPUs support at most."""
USUAL_MRRS_BYTES = 512
"""What BIOSes and the specification's reset value give."""
USUAL_ROUND_TRIPS_NS = (500, 1000)
"""Duration of a memory read on a server, idle and under load; most measured ones lie in between."""


def usual_mrrs_bytes(mps_bytes: int) -> int:
    """The usual MRRS beside an MPS: no less than it."""
    return max(USUAL_MRRS_BYTES, mps_bytes)
