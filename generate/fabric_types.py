"""The Python models of fabrics and their flows (`pcielab.library.fabrics.parts`), from the types of `pcie-fabric`.

A file names the kinds of its hosts and devices and puts BARs at nodes; the description resolves both.
"""

from generate.models import Models, schemas

_HEAD = '''\
"""Fabrics and flows as the estimators and the simulator take them: keys, ranges, defaults, meanings.

Written by `make generate` from `crates/pcie-fabric/src/description.rs` and `simulate/traffic.rs`: change the types
there.
"""

from typing import Annotated, Literal, TypeAlias

{imports}
'''
_CALLED = {
    "EngineParameters": "Engine",
    "HostParameters": "Host",
    "LinkParameters": "FabricLink",
    "PaceParameters": "Pace",
    "Traffic": "Flow",
}
_WORDS = ("NodeKind", "Primitive", "Arrivals", "Discipline")
_OF_FILES = {
    "MemoryParameters": ["bar"],
    "NodeParameters": ["host", "device"],
    "FabricParameters": ["nodes", "links"],
}
"""Keys that files express differently."""
_TABLES = (
    "HostParameters",
    "MemoryParameters",
    "PaceParameters",
    "EngineParameters",
    "NodeParameters",
    "LinkParameters",
    "FabricParameters",
    "Traffic",
)


def module() -> str:
    """The module."""
    models = Models(schemas("fabric"), named=_WORDS, renamed=_CALLED)
    aliases = [models.words(name) for name in _WORDS]
    tables = [models.table(name, without=_OF_FILES.get(name, ())) for name in _TABLES]
    return "\n".join([_HEAD.format(imports=models.import_lines()), *aliases, *tables])
