"""The base class of tables that Python reads itself, and the types of their values.

These are shapes that only Python has, as models of pydantic: files of sweeps and of published numbers, options of
devices, questions of pages. The compiled half reads systems, NICs, engines, expanders, cores, messages, fabrics
and suites (`crates/pcie-describe`).
The last word of a key is its unit (`walk_ns`, `llc_bytes`). Sizes may also have a suffix (`"15M"`).
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

from annotated_types import Ge, GroupedMetadata, Gt, Le, MaxLen, MinLen, MultipleOf
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from pcielab import _core
from pcielab._core import read_size
from pcielab.errors import InputError


class Part(BaseModel):
    """A table: strict and immutable, without unknown keys or implicit conversions."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


def _size(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return read_size(value, "size")
    except InputError:
        raise PydanticCustomError("size", "give bytes, for example 64, '4K' or '1.5M'") from None


def plain(text: str) -> str:
    """Check that a name or title is printable."""
    if not text.isprintable():
        raise PydanticCustomError("plain", "give letters that can be printed, on one line")
    return text


MOST_COUNT = 2**32 - 1
_NOT_IN_RANGE = frozenset(
    {
        "finite_number", "float_type", "greater_than", "greater_than_equal", "int_from_float", "int_type",
        "less_than", "less_than_equal", "list_type", "literal_error", "multiple_of", "string_too_long",
        "string_too_short", "string_type", "too_long", "too_short",
    }
)  # fmt: skip
"""Pydantic's types of errors of a value out of range."""


class Fits(GroupedMetadata):
    """The range of a value in the words of JSON Schema, with the compiled half's error messages.

    Attributes:
        schema: Keywords of JSON Schema: `minimum`, `exclusiveMinimum`, `maximum`, `multipleOf`, lengths, `anyOf`.
    """

    def __init__(self, **schema: object) -> None:
        self.schema = schema

    def __iter__(self) -> Iterator[object]:
        yield from (_CONSTRAINTS[key](limit) for key, limit in self.schema.items() if key in _CONSTRAINTS)
        yield WrapValidator(self._in_the_same_words)

    def _in_the_same_words(self, value: object, handler: ValidatorFunctionWrapHandler) -> object:
        try:
            return handler(value)
        except ValidationError as error:
            wrong = error.errors(include_url=False)[0]
            of_an_entry = any(isinstance(step, int) for step in wrong["loc"])
            if of_an_entry or wrong["type"] not in _NOT_IN_RANGE:
                raise
            raise PydanticCustomError("range", "{remedy}", {"remedy": remedy(self.schema)}) from None


_CONSTRAINTS: dict[str, Callable[[Any], object]] = {
    "minimum": Ge,
    "exclusiveMinimum": Gt,
    "maximum": Le,
    "multipleOf": MultipleOf,
    "minLength": MinLen,
    "maxLength": MaxLen,
    "minItems": MinLen,
    "maxItems": MaxLen,
}


def remedy(schema: Mapping[str, object]) -> str:
    """The remedy for a wrong value of this JSON Schema: `give 1 to 255`."""
    return _core.remedy(json.dumps(schema))


SIZE = BeforeValidator(_size, json_schema_input_type=int | str)
"""Reads sizes that are texts: "15M"."""
Name = Annotated[str, AfterValidator(plain), Fits(type="string", minLength=1, maxLength=200)]
Title = Annotated[str, AfterValidator(plain), Fits(type="string", minLength=1, maxLength=1000)]
