"""Flows of fabrics in Python (`pcielab.library.fabrics.parts`), from the types of `pcie-fabric`."""

from generate.models import Models, schemas

_HEAD = '''\
"""Flows of fabrics as the simulator takes them, and the words of fabrics.

Written by `make generate` from `crates/pcie-fabric/src/description.rs` and `simulate/traffic.rs`: change the types
there.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias
'''
_WORDS = ("NodeKind", "Primitive", "Arrivals", "Discipline")


def module() -> str:
    """The module."""
    models = Models(schemas("fabric"), named=_WORDS, renamed={"Traffic": "Flow"})
    flow = models.record("Traffic", enumerations=False, slots=True)
    return "\n".join([_HEAD, *map(models.words, _WORDS), "", flow])
