"""What every part of a profile has in common: strictness, and the types of its values.

Units are the last word of a key (`walk_ns`, `llc_bytes`). A number is a number of that unit; sizes may also be
written as people say them (`"15M"`).
"""

from typing import Annotated, ClassVar, Literal, Self, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from pcielab import _core
from pcielab.errors import InputError
from pcielab.library.quantities import MOST_BYTES, parse_bytes


class Part(BaseModel):
    """A table of a profile: unknown keys are refused, and nothing is converted silently."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    def with_(self, **changes: object) -> Self:
        """This part with changes, by any end of a key that only one key of it has: `llc_ddio_ways=4`.

        Raises:
            InputError: No key is called so, several are, or the value cannot be.
        """
        # Which keys there are is known once every part is.
        from pcielab.library.profiles.naming import part_with

        return part_with(self, changes)


class Ruled(Part):
    """A part with rules across its keys, which the compiled half has."""

    rule: ClassVar[str]
    """Whose rules they are."""

    @model_validator(mode="after")
    def _keeps_to_its_rules(self) -> Self:
        for kind in type(self).__mro__:
            if "rule" in vars(kind):
                keys = set(cast(type[BaseModel], kind).model_fields)
                _core.check_part(vars(kind)["rule"], self.model_dump_json(include=keys))
        return self


def _size(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse_bytes(value, "size")
    except InputError:
        raise PydanticCustomError("size", "give bytes, such as 64, '4K' or '1.5M'") from None


def plain(text: str) -> str:
    """A name or title, which is refused unless it can be printed as it is."""
    if not text.isprintable():
        raise PydanticCustomError("plain", "give letters that can be printed, on one line")
    return text


def _credits(most: int) -> BeforeValidator:
    def check(value: object) -> object:
        if value == INFINITE or (type(value) is int and 1 <= value <= most):
            return value
        raise PydanticCustomError("credits", "give 1 to {most}, or 'infinite'", {"most": most})

    return BeforeValidator(
        check, json_schema_input_type=Annotated[int, Field(ge=1, le=most)] | Literal["infinite"]
    )


def _step_bytes(value: object) -> object:
    if value == "packet" or (type(value) is int and value > 0):
        return value
    raise PydanticCustomError("step_bytes", 'give a number above 0, or "packet"')


INFINITE: Literal["infinite"] = "infinite"
"""Credits without a limit; a count of all ones, as tools may show them, is none that a receiver advertises."""
MOST_COUNT = 2**32 - 1
PAGE_BYTES = 4096

Name = Annotated[str, AfterValidator(plain), Field(min_length=1, max_length=200)]
Title = Annotated[str, AfterValidator(plain), Field(min_length=1, max_length=1000)]
Label = Annotated[str, AfterValidator(plain), Field(max_length=200)]
"""A name that may be left out."""
Nanoseconds = Annotated[float, Field(ge=0, le=1e9)]
StepTime = Annotated[float, Field(ge=0, le=1e5)]
"""What a transaction waits for, in ns: microseconds, so that times add up in the simulator's whole numbers."""
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=MOST_COUNT)]
Amount = Annotated[int, Field(ge=0, le=MOST_COUNT)]
Padding = Annotated[int, Field(ge=0, le=4096)]
Size = Annotated[int, BeforeValidator(_size, json_schema_input_type=int | str), Field(ge=1, le=MOST_BYTES)]
SizeOrNone = Annotated[int, BeforeValidator(_size, json_schema_input_type=int | str), Field(ge=0, le=MOST_BYTES)]
"""A size, or 0."""
Size32 = Annotated[int, BeforeValidator(_size, json_schema_input_type=int | str), Field(ge=1, le=MOST_COUNT)]
Quantum = Annotated[int, BeforeValidator(_size, json_schema_input_type=int | str), Field(ge=1, le=4096)]
HeaderCredits = Annotated[int | Literal["infinite"], _credits(1 << 16)]
DataCredits = Annotated[int | Literal["infinite"], _credits(1 << 20)]
Amount64 = Annotated[int, Field(ge=0, le=2**63 - 1)]
Bytes = Annotated[int, BeforeValidator(_size, json_schema_input_type=int | str)]
"""A size whose key says its range."""
StepBytes = Annotated[int | Literal["packet"], BeforeValidator(_step_bytes)]
"""What a step of a NIC moves."""
Socket = Annotated[int, Field(ge=0, le=63)]
Address = Annotated[int, Field(ge=0, le=2**63 - 1, multiple_of=PAGE_BYTES)]
