"""Quantities that many keys share, each with its range.

Written by `make generate` from `crates/pcie-schema/src/quantity.rs`: change them there.
"""

from typing import Annotated, Literal

from pydantic import Field

from pcielab.library.profiles.part import SIZE, Fits

StepTime = Annotated[float, Fits(type="number", minimum=0, maximum=100_000)]
"""Duration of a step of a transaction, ns: bounded so that sums stay exact in the simulator's integers."""
Nanoseconds = Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
"""A pause between transactions, or a time of idle states, ns: at most a second."""
Duration = Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000_000)]
"""A duration above zero, ns: at most a second."""
Share = Annotated[float, Fits(type="number", minimum=0, maximum=1)]
"""A share of a whole."""
Count = Annotated[int, Fits(type="integer", minimum=1, maximum=4_294_967_295)]
"""A count of at least one."""
Padding = Annotated[int, Fits(type="integer", minimum=0, maximum=4_096)]
"""Bytes of padding that a port adds."""
Quantum = Annotated[int, SIZE, Fits(type="integer", minimum=1, maximum=4_096)]
"""Bytes of a unit in which a port sends."""
Socket = Annotated[int, Fits(type="integer", minimum=0, maximum=63)]
"""A processor socket, counted from 0."""
Address = Annotated[int, Fits(type="integer", minimum=0, maximum=9_223_372_036_854_775_807, multipleOf=4_096)]
"""A bus address of a page."""
Size = Annotated[int, SIZE, Fits(type="integer", minimum=1, maximum=9_223_372_036_854_775_807)]
"""Bytes."""
SizeOrNone = Annotated[int, SIZE, Fits(type="integer", minimum=0, maximum=9_223_372_036_854_775_807)]
"""Bytes, or 0."""
Size32 = Annotated[int, SIZE, Fits(type="integer", minimum=1, maximum=4_294_967_295)]
"""Bytes, in 32 bits."""
HeaderCredits = Annotated[
    Annotated[int, Field(ge=1, le=65536)] | Literal["infinite"],
    Fits(anyOf=({"type": "integer", "minimum": 1, "maximum": 65536}, {"const": "infinite"})),
]
"""Header credits that a receiver advertises."""
DataCredits = Annotated[
    Annotated[int, Field(ge=1, le=1048576)] | Literal["infinite"],
    Fits(anyOf=({"type": "integer", "minimum": 1, "maximum": 1048576}, {"const": "infinite"})),
]
"""Data credits (16 B each) that a receiver advertises."""
