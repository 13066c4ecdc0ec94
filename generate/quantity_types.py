"""The Python types of quantities (`pcielab.library.profiles.quantity_types`), each with its range."""

from collections.abc import Mapping
from typing import Any

from generate.models import fits, schemas
from generate.schema import documentation

_HEAD = '''\
"""Quantities that many keys share, each with its range.

Written by `make generate` from `crates/pcie-schema/src/quantity.rs`: change them there.
"""

from typing import Annotated

from pcielab.library.profiles.part import SIZE, Fits
'''
_SIZES = ("Size",)
"""Quantities that a file may write as "4K"."""
_OF_MODELS = ("Count", "Size")
"""Those that models in Python have."""


def module() -> str:
    """The module."""
    quantities = schemas("quantities")
    return "\n".join([_HEAD, *(_quantity(name, quantities[name]) for name in _OF_MODELS)])


def _quantity(name: str, schema: Mapping[str, Any]) -> str:
    """A type with its meaning."""
    kept = {keyword: limit for keyword, limit in schema.items() if keyword not in ("description", "x-quantity")}
    size = "SIZE, " if name in _SIZES else ""
    return f"{name} = Annotated[{_plain(kept)}, {size}{fits(kept)}]\n{documentation(schema['description'], '')}"


def _plain(schema: Mapping[str, Any]) -> str:
    return {"number": "float", "integer": "int"}[schema["type"]]
