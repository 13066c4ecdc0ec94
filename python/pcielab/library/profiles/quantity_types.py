"""Quantities that many keys share, each with its range.

Written by `make generate` from `crates/pcie-schema/src/quantity.rs`: change them there.
"""

from typing import Annotated

from pcielab.library.profiles.part import SIZE, Fits

Count = Annotated[int, Fits(type="integer", minimum=1, maximum=4_294_967_295)]
"""A count of at least one."""
Size = Annotated[int, SIZE, Fits(type="integer", minimum=1, maximum=9_223_372_036_854_775_807)]
"""Bytes."""
