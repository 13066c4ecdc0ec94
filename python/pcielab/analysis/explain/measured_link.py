"""Which link a measured device was behind: what it says itself, and what a text of `lspci -vvv` shows of it.

A device tells what its link can do at most, and, as conditions, what the link had come to before the run. The text
adds what devices do not tell: tags, the ECRC. The device is found in it by its address or its numbers. An import
that has neither is taken to be of the card of the published measurements, or, if it says nothing of the link, of
the fastest card there is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pcielab.errors import InputError
from pcielab.library import lspci
from pcielab.library.profiles.parts import Link
from pcielab.library.validation import checked
from pcielab.store import Store
from pcielab.store.setup import link_parameters

LSPCI = "sys-lspci.txt"
"""Name of the attachment with the output of `lspci -vvv`."""
_PUBLISHED_CARD = "19ee:6000"
"""The card of the published measurements; some of their machines hold another one too."""
_MOST_TAGS = 16_384
_NEEDED, _MORE = ("generation", "lanes", "mps_bytes", "mrrs_bytes"), ("rcb_bytes", "ecrc")


@dataclass(frozen=True)
class MeasuredLink:
    """The link of a measured device.

    Attributes:
        link: What is known of it; where `tags` is None, its own tags are as many as there can be.
        tags: Read requests that the device may have in flight; None where nothing says.
    """

    link: Link
    tags: int | None


def measured_link(store: Store) -> MeasuredLink:
    """The link of a run that was measured.

    Raises:
        InputError: The store does not say which.
    """
    device = store.manifest.get("device") or {}
    told, shown = _told(store, device), _shown(store, device)
    if told is None and shown is None:
        raise InputError(
            f"{store.path}: which link was measured is not known: the manifest has no system and no complete "
            f"device.link, and the store no attachment {LSPCI}: import a directory that holds it (`lspci -vvv`, "
            "as root)"
        )
    if told is None or shown is None:
        link = told or shown
        assert link is not None
        return MeasuredLink(link, link.tags if shown else device.get("outstanding"))
    both = shown.model_copy(update=told.model_dump(include=told.model_fields_set - {"tags"}))
    return MeasuredLink(both, both.tags)


def _told(store: Store, device: Mapping[str, Any]) -> Link | None:
    """What the device says of its link; None where that is not enough."""
    parameters = link_parameters(store.manifest)
    values: dict[str, Any] = {key: parameters.get(key) for key in _NEEDED}
    if any(value is None for value in values.values()):
        return None
    values |= {key: parameters[key] for key in _MORE if parameters.get(key) is not None}
    tags = min(device.get("outstanding") or _MOST_TAGS, _MOST_TAGS)
    content = values | {"tags": tags, "flit": values["generation"] >= 6}
    return checked(Link, content, f"{store.path}: device.link")


def _shown(store: Store, device: Mapping[str, Any]) -> Link | None:
    """What the attached text shows of the device; None without a text, or where nothing tells which one it is."""
    text = store.attachments.get(LSPCI)
    imported = not store.manifest.get("backend")
    name = named_in_texts(device)
    if text is None or not (name or imported):
        return None
    functions = lspci.parse(text)
    if name is None and any(function.matches(_PUBLISHED_CARD) for function in functions):
        name = _PUBLISHED_CARD
    return lspci.find(functions, name).link()


def named_in_texts(device: Mapping[str, Any]) -> str | None:
    """What tells a device from the others in a text; None where it says nothing of that kind of itself."""
    if device.get("address"):
        return str(device["address"])
    vendor, number = device.get("vendor_id"), device.get("device_id")
    return None if vendor is None or number is None else f"{vendor:04x}:{number:04x}"
