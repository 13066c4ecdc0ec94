"""The Python types of quantities (`pcielab.library.profiles.quantity_types`), each with its range."""

from collections.abc import Mapping
from typing import Any

from generate.models import fits, schemas
from generate.schema import documentation, literal

_HEAD = '''\
"""Quantities that many keys share, each with its range.

Written by `make generate` from `crates/pcie-schema/src/quantity.rs`: change them there.
"""

from typing import Annotated, Literal

from pydantic import Field

from pcielab.library.profiles.part import SIZE, Fits
'''
_SIZES = ("Quantum", "Size", "Size32", "SizeOrNone")
"""Quantities that a file may write as "4K"."""


def module() -> str:
    """The module."""
    return "\n".join([_HEAD, *(_quantity(name, schema) for name, schema in schemas("quantities").items())])


def _quantity(name: str, schema: Mapping[str, Any]) -> str:
    """A type with its meaning."""
    kept = {keyword: limit for keyword, limit in schema.items() if keyword not in ("description", "x-quantity")}
    size = "SIZE, " if name in _SIZES else ""
    return f"{name} = Annotated[{_plain(kept)}, {size}{fits(kept)}]\n{documentation(schema['description'], '')}"


def _plain(schema: Mapping[str, Any]) -> str:
    if "anyOf" not in schema:
        return {"number": "float", "integer": "int"}[schema["type"]]
    options = (literal([option["const"]]) if "const" in option else _limited(option) for option in schema["anyOf"])
    return " | ".join(options)


def _limited(option: Mapping[str, Any]) -> str:
    """One of several shapes; the error message covers all of them."""
    return f"Annotated[{_plain(option)}, Field(ge={option['minimum']}, le={option['maximum']})]"
