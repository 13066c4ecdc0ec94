"""The declared keys of profiles (`pcielab.library.profiles.parts`), from the types that the simulator takes."""

from generate.models import Models, schemas, tables_below

_HEAD = '''\
"""The parts of a system as the simulator takes them: keys and meanings.

Written by `make generate` from `crates/pcie-sim/src/profile`: change the types there.
"""

from typing import Literal

from pcielab.library.profiles.values import Part, Values, Whole
'''
_ROOT = "System"
_PARTS = {"Link": "link", "Host": "host", "Card": "device"}
_PLACEMENT = "A system's own keys, besides the link, host and device that it names."


def module() -> str:
    """The module, formatted."""
    kinds = schemas("system")
    models = Models(kinds)
    inner = [name for name in tables_below(kinds, _ROOT) if name != _ROOT]
    classes = [
        models.declared(name, "Part" if name in _PARTS else "Values", part=_PARTS.get(name)) for name in inner
    ]
    named = _PARTS.values()
    placement = models.declared(_ROOT, "Whole", without=named, called="Placement", about=_PLACEMENT)
    whole = models.declared(_ROOT, "Placement", only=named)
    return "\n\n".join([_HEAD, *classes, placement, whole])
