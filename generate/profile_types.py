"""The Python models of profiles (`pcielab.library.profiles.parts`), from the types that the simulator takes."""

from generate.models import Models, schemas, tables_below

_HEAD = '''\
"""The parts of a system as the simulator takes them: keys, ranges, defaults, meanings.

Written by `make generate` from `crates/pcie-sim/src/profile`: change the types there.
"""

from typing import Annotated, ClassVar, Literal

{imports}
'''
_ROOT = "System"
_NAMED_PARTS = ("link", "host", "device")
_PLACEMENT = "A system's own keys, besides the link, host and device that it names."


def module() -> str:
    """The module, formatted."""
    kinds = schemas("system")
    models = Models(kinds)
    classes = [models.table(name) for name in tables_below(kinds, _ROOT) if name != _ROOT]
    placement = models.table(_ROOT, without=_NAMED_PARTS, called="Placement", about=_PLACEMENT)
    whole = models.table(_ROOT, base="Placement", only=_NAMED_PARTS)
    return "\n\n".join([_HEAD.format(imports=models.import_lines()), *classes, placement, whole])
