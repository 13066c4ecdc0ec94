"""The engine that draws figures: Vega in V8, through vl-convert.

V8 reserves address space that it does not use, and aborts the process where a limit (`ulimit -v`) refuses it.
"""

import resource
from types import ModuleType

import vl_convert

from pcielab.errors import RunError

NEEDED_BYTES = 66 << 30
"""Address space that V8 reserves at its start: two cages of 32 GiB, and the rest."""


def drawing_engine() -> ModuleType:
    """The engine, if the process may reserve what it needs.

    Raises:
        RunError: The limit of the address space is too low.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < NEEDED_BYTES:
        raise RunError(
            f"memory is short: drawing reserves {NEEDED_BYTES >> 30} GiB of address space, most of it unused, and "
            f"the limit is {limit / (1 << 30):.1f} GiB: raise it (ulimit -v unlimited), or leave the figure out"
        )
    return vl_convert
