"""Slots as people read them."""

from pcielab.doctor.tree import UNNAMED_DOMAIN


def short(slot: str) -> str:
    """A slot without the domain 0000, the only one of most machines; a number where the source shows no slot."""
    if slot.startswith(UNNAMED_DOMAIN):
        device, _, function = slot.rpartition(":")[2].partition(".")
        return f"unnamed {int(device, 16) + 32 * int(function) + 1}"
    return slot.removeprefix("0000:")
