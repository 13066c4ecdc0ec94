"""`cpu`: a core of this machine as the device, and the host options that all real devices share.

Options of devices are models of pydantic, since packages in Python define some (`devices/registry.py`).
"""

import platform
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, WithJsonSchema

from pcielab import _core
from pcielab.errors import refusal
from pcielab.library.profiles.part import Part
from pcielab.library.profiles.quantity_types import Size

PageBytes: TypeAlias = Annotated[
    Size, WithJsonSchema({"enum": [4096, 2097152, 1073741824, "4K", "2M", "1G"], "default": 4096})
]


class HostOptions(Part):
    """The host's side of a real device."""

    page_bytes: PageBytes = 4096
    """Page size of the buffer: 4096, 2M or 1G."""
    buffer_bytes: Size = 64 << 20
    """Size of the buffer, in whole pages."""
    node: int | None = Field(default=None, ge=0, le=1023)
    """NUMA node of the buffer; none: the kernel chooses."""
    core: int | None = Field(default=None, ge=0, le=65535)
    """Core that the program is pinned to; none: the first allowed one of the device's NUMA node."""
    cold: Literal["thrash", "flush"] = "thrash"
    """How caches are made cold: `thrash` writes other memory, as published; `flush` flushes the window's lines."""


class CpuOptions(Part):
    """Options of `--device cpu`."""

    host: HostOptions = HostOptions()
    """The host's side."""


def make(options: CpuOptions, address: str | None) -> _core.Backend:
    """Make the back end; the address is the number of a core."""
    host = options.host
    if address is not None:
        if not (address.isascii() and address.isdigit()) or len(address) > len("65535"):
            raise refusal("wrong-value", f"--device cpu:{address}: give the number of a core, for example cpu:2")
        if host.core is not None:
            raise refusal("conflict", f"--device cpu:{address} and host.core={host.core}: give one of them")
        host = host.model_copy(update={"core": int(address)})
    return _core.Backend.cpu(host.model_dump_json())


def present() -> list[tuple[str, str]]:
    """The device, and why it cannot be measured here; empty if it can."""
    missing = "" if platform.system() == "Linux" else "the real host needs Linux"
    return [("a core of this machine", missing)]
