"""The declared keys of NICs, engines, expanders, cores, BARs and messages (`library/nic_parts.py` and others)."""

from collections.abc import Collection

from generate.models import Models, schemas, tables_below

_HEAD = '''\
"""{about}: keys and meanings.

Written by `make generate` from `crates/pcie-model/src/{source}`: change the types there.
"""

{typing}from pcielab import _core
from pcielab.library.profiles.values import InFile, Values
'''
_LITERAL = "from typing import Literal\n\n"


def nics() -> str:
    """The module of NICs."""
    files = "interactions.rs` and `features.rs"
    head = _HEAD.format(about="A NIC and its features", source=files, typing=_LITERAL)
    return _module(head, "nic", "Nic", handle="Nic")


def engines() -> str:
    """The module of engines."""
    head = _HEAD.format(about="An engine that works on commands", source="engine.rs", typing=_LITERAL)
    return _module(head, "engine", "Engine", handle="Engine")


def expanders() -> str:
    """The module of memory expanders."""
    head = _HEAD.format(about="A memory expander", source="expander.rs", typing=_LITERAL)
    return _module(head, "expander", "Expander", handle="Expander")


def cores() -> str:
    """The module of cores."""
    head = _HEAD.format(about="A core, with its host up to the link", source="mmio/profile.rs", typing=_LITERAL)
    return _module(head, "core", "CoreProfile", handle="Core", called="CoreValues")


def bars() -> str:
    """The module of BARs."""
    head = _HEAD.format(about="A device's memory behind a BAR", source="mmio/profile.rs", typing="")
    return _module(head, "bar", "Bar", handle="Bar", called="BarValues")


def messages() -> str:
    """The module of message profiles, without the link, which comes from the system of a file."""
    head = _HEAD.format(about="Messages from a core to a device", source="pio/profile.rs", typing="")
    return _module(head, "messages", "MessageProfile", handle="Messages", called="MessageTimes", without=["link"])


def _module(
    head: str, about: str, root: str, *, handle: str, called: str = "", without: Collection[str] = ()
) -> str:
    kinds = schemas(about)
    models = Models(kinds)
    inner = [name for name in tables_below(kinds, root) if name not in (root, "LinkParameters")]
    whole = models.declared(root, f"InFile[_core.{handle}]", without=without, called=called)
    return "\n\n".join([head, *(models.declared(name, "Values") for name in inner), whole])
