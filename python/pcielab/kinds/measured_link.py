"""The link of a measured device: from its own report, and from a text of `lspci -vvv`.

A device reports its link's capability and, as conditions, the negotiated link before the run. The text adds tags
and ECRC. It names devices by address or by numbers. An import that has neither is taken to be of the card of the
published measurements or, if the text does not show that card, of the fastest one in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pcielab.errors import refusal
from pcielab.library.profiles.parts import Link
from pcielab.store import Store
from pcielab.store.setup import link_parameters

LSPCI = "sys-lspci.txt"
"""Attachment with the output of `lspci -vvv`."""
_PUBLISHED_CARD = "19ee:6000"
"""The card of the published measurements; some of their machines also hold another."""
_MOST_TAGS = 16_384
_NEEDED, _MORE = ("generation", "lanes", "mps_bytes", "mrrs_bytes"), ("rcb_bytes", "ecrc")


@dataclass(frozen=True)
class MeasuredLink:
    """The link of a measured device.

    Attributes:
        link: The link; its own `tags` is the largest possible number where `tags` below is None.
        tags: Most read requests of the device in flight; None if unknown.
    """

    link: Link
    tags: int | None


def link_is_known(store: Store) -> bool:
    """Whether a measured run gives its link, by the device's report or a text of lspci."""
    device = store.manifest.get("device") or {}
    return _reported(store, device) is not None or _shown(store, device) is not None


def measured_link(store: Store) -> MeasuredLink:
    """The link of a measured run.

    Raises:
        InputError: The store does not give it.
    """
    device = store.manifest.get("device") or {}
    reported, shown = _reported(store, device), _shown(store, device)
    if reported is None and shown is None:
        raise refusal(
            "missing",
            f"{store.path}: unknown link: the manifest has no system and no complete device.link, and the store "
            f"no attachment {LSPCI}: import a directory that holds it (`lspci -vvv`, as root)",
        )
    if reported is None or shown is None:
        link = reported or shown
        assert link is not None
        return MeasuredLink(link, link.tags if shown else device.get("outstanding"))
    both = shown.unchecked(flit=reported.flit, **{key: getattr(reported, key) for key in _keys_reported(store)})
    return MeasuredLink(both, both.tags)


def _reported(store: Store, device: Mapping[str, Any]) -> Link | None:
    """The link that the device reports; None if incomplete."""
    parameters = link_parameters(store.manifest)
    values: dict[str, Any] = {key: parameters[key] for key in _keys_reported(store)}
    if not values.keys() >= set(_NEEDED):
        return None
    tags = min(device.get("outstanding") or _MOST_TAGS, _MOST_TAGS)
    content = values | {"tags": tags, "flit": values["generation"] >= 6}
    return Link.of(content, f"{store.path}: device.link")


def _keys_reported(store: Store) -> list[str]:
    """The keys of the link, besides tags, that the manifest gives."""
    parameters = link_parameters(store.manifest)
    return [key for key in (*_NEEDED, *_MORE) if parameters.get(key) is not None]


def _shown(store: Store, device: Mapping[str, Any]) -> Link | None:
    """The device's link in the attached text; None without a text or a means to find the device in it."""
    text = store.attachments.get(LSPCI)
    imported = not store.manifest.get("backend")
    name = named_in_texts(device)
    if text is None or not (name or imported):
        return None
    # Imported here because the doctor's models take time to load.
    from pcielab.doctor import read_lspci
    from pcielab.doctor.devices import find, link_of, matches, root_port

    tree = read_lspci(text, f"{store.path}, {LSPCI}")
    if name is None and any(matches(function, _PUBLISHED_CARD) for function in tree.functions):
        name = _PUBLISHED_CARD
    function = find(tree, name)
    return link_of(function, root_port(tree, function))


def named_in_texts(device: Mapping[str, Any]) -> str | None:
    """A device's name in a text of lspci, its address or numbers; None if it reports neither."""
    if device.get("address"):
        return str(device["address"])
    vendor, number = device.get("vendor_id"), device.get("device_id")
    return None if vendor is None or number is None else f"{vendor:04x}:{number:04x}"
