"""Lists of sizes in files: bytes, texts (`"4K"`), and ranges (`"240:271"`, `"64:4K:x2"`), which are expanded."""

import re
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from pcielab._core import read_sizes
from pcielab.errors import InputError
from pcielab.library.profiles.quantity_types import Size

_MOST_SIZES = 100_000
_RANGE = re.compile("[:-]")


def _ranges(value: object) -> object:
    if not isinstance(value, list):
        return value
    sizes: list[object] = []
    for item in value:
        sizes.extend(_expanded(item) if isinstance(item, str) and _RANGE.search(item) else [item])
        if len(sizes) > _MOST_SIZES:
            raise PydanticCustomError("range", "more than {most} sizes: give a step", {"most": _MOST_SIZES})
    return sizes


def _expanded(text: str) -> list[int]:
    try:
        return read_sizes(text, "range")
    except InputError as error:
        raise PydanticCustomError("range", "{remedy}", {"remedy": error.remedy}) from None


Sizes = Annotated[
    list[Size], BeforeValidator(_ranges, json_schema_input_type=list[int | str]), Field(min_length=1)
]
