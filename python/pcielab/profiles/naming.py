"""Keys of a system as Python can write them: `llc_ddio_ways` for `host.llc.ddio_ways`.

Any end of a key that only one key has will do; what several have is refused, with their names.
"""

from functools import cache

from pcielab.errors import InputError
from pcielab.profiles.changes import known_keys
from pcielab.validation import suggestion
from pcielab.wording import named

_SHOWN = 8


def key_of(name: str) -> str:
    """The dotted key that a name means; one that has dots is taken as it is.

    Raises:
        InputError: No key ends like this, or several do.
    """
    if "." in name:
        return name
    found = _ending().get(name, ())
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(key.replace(".", "_") for key in found[:_SHOWN])
        raise InputError(f"{named(name)}: {len(found)} keys end like this: give more of one: {listed}")
    raise InputError(f"{named(name)}: no key of a system ends like this: {suggestion(name, _ending())}")


@cache
def _ending() -> dict[str, tuple[str, ...]]:
    """The keys that each ending means; a whole key means itself alone."""
    keys = list(known_keys())
    ending: dict[str, tuple[str, ...]] = {}
    for key in keys:
        steps = key.split(".")
        for first in range(len(steps)):
            end = "_".join(steps[first:])
            ending[end] = (*ending.get(end, ()), key)
    return ending | {key.replace(".", "_"): (key,) for key in keys}
