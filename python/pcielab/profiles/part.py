"""What every part of a profile has in common: strictness, and the types of its values.

Units are the last word of a key (`walk_ns`, `llc_bytes`). A number is a number of that unit; sizes may also be
written as people say them (`"15M"`).
"""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from pcielab.errors import InputError
from pcielab.quantities import parse_bytes


class Part(BaseModel):
    """A table of a profile: unknown keys are refused, and nothing is converted silently."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


def _size(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse_bytes(value, "size")
    except InputError:
        raise PydanticCustomError("size", "give bytes, such as 64, '4K' or '1.5M'") from None


MOST_COUNT = 2**32 - 1
MOST_BYTES = 2**63 - 1

Nanoseconds = Annotated[float, Field(ge=0, le=1e9)]
StepTime = Annotated[float, Field(ge=0, le=1e5)]
"""What a transaction waits for, in ns: microseconds, so that times add up in the simulator's whole numbers."""
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=MOST_COUNT)]
Size = Annotated[int, BeforeValidator(_size, json_schema_input_type=int | str), Field(ge=1, le=MOST_BYTES)]
Amount = Annotated[int, Field(ge=0, le=2**32 - 1)]
Size32 = Annotated[int, BeforeValidator(_size, json_schema_input_type=int | str), Field(ge=1, le=2**32 - 1)]
