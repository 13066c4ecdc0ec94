"""The memory expander that a question is about: which names mean one, and the profile whose bounds apply.

CXL.mem has bounds of its own (`pcielab.model.expander`), not those of a BAR. A question names a shipped expander,
a file, a product, or just "CXL memory expander"; then the shipped expander's memory is assumed behind the asker's
link. A name that says CXL but not memory is refused.
"""

import re
from functools import cache

from pcielab._core import Tunnel, Width
from pcielab.errors import InputError, refusal
from pcielab.library import shipped
from pcielab.library.expanders import ExpanderProfile, load_expander
from pcielab.wording import shown

USUAL = "cxl2-ddr5-5600"
"""The expander of a question that names none with a profile."""
_PRODUCTS = {
    "Micron CZ120 and CZ122": r"\bcz12[02]\b",
    "Samsung CMM-D": r"\bcmm-?d\b",
    "SK hynix CMM-DDR5": r"\bcmm-?ddr5\b",
    "Astera Leo (CM5xxxx)": r"\bastera.*\bleo\b|\bcm5\d{3}\b|\bcm5x{4}\b",
    "Montage M88MX5891": r"\bm88mx\d{4}\b",
}
"""Expanders on the market by their names, of which the public ID list and published measurements know."""
_CXL = r"\bcxl"
_MEMORY = (
    r"mem(?:ory)?\b|expander|expansion|dram|\bddr\d|\bdimm|\bnode\b|type[ -]?3\b|\bcxl[ -]?(?:asic|fpga|[abcd])\b"
)
_OTHER = (
    r"switch|retimer|\bgpu\b|\bnic\b|accelerator|type[ -]?[12]\b|cxl\.cache|cxl\.io|root port|\bbridge\b"
    r"|\bssd\b|storage"
)


def is_expander(name: str) -> bool:
    """Whether the name of a device means a memory expander."""
    found = re.search(rf"{_CXL}|memory expander", name, re.IGNORECASE) and re.search(_MEMORY, name, re.IGNORECASE)
    other = re.search(_OTHER, name, re.IGNORECASE)
    return (bool(found) and not other) or _is_product(name) or _has_profile(name)


def check_name(name: str, option: str = "--device") -> None:
    """Refuse a CXL device that is no memory expander, or does not say what it is.

    Raises:
        InputError: With the reason, and the names that are known.
    """
    if not re.search(_CXL, name, re.IGNORECASE) or is_expander(name):
        return
    other = re.search(_OTHER, name, re.IGNORECASE)
    reason = f"{other[0]}: only CXL.mem is modelled" if other else "the name does not say that it is memory"
    raise refusal("not-found", f"{option} {shown(name)}: {reason}: {known()}")


def known() -> str:
    """What names of expanders may be, as a remedy."""
    products = ", ".join(_PRODUCTS)
    profiles = ", ".join(shipped.profile_files("expander"))
    return (
        f"give 'CXL memory expander', a product ({products}), an expander of pcielab ({profiles}), or a .toml file"
    )


def expander_of(name: str, width: Width | Tunnel | None) -> tuple[ExpanderProfile, str]:
    """The expander of a device on a link, and what was assumed.

    Raises:
        InputError: CXL has no such link, or the file is no expander.
    """
    if isinstance(width, Tunnel):
        raise refusal("unsupported", f"--link {width}: CXL has no tunnel: give a link, as gen5x8")
    named = name if _has_profile(name) else USUAL
    profile = load_expander(named)
    assumed = "" if named == name else f"controller and memory of {named} assumed"
    if width is None:
        link = f"Gen{profile.link.generation} x{profile.link.lanes}"
        return profile, f"{assumed}, on its {link}" if assumed else ""
    return _on(profile, width.generation, width.lanes), assumed


def _on(profile: ExpanderProfile, generation: int, lanes: int) -> ExpanderProfile:
    """The expander on another link; its flits follow the generation."""
    flit_bytes = 256 if generation > 5 else profile.link.flit_bytes
    changes = {"link.generation": generation, "link.lanes": lanes, "link.flit_bytes": flit_bytes}
    try:
        return profile.with_(changes)
    except InputError as error:
        raise refusal("wrong-value", f"--link gen{generation}x{lanes}: CXL has no such link: {error}") from None


@cache
def usual_on(generation: int, lanes: int) -> ExpanderProfile:
    """The usual expander on a link: that of published figures."""
    return _on(load_expander(USUAL), generation, lanes)


def _is_product(name: str) -> bool:
    return any(re.search(words, name, re.IGNORECASE) for words in _PRODUCTS.values())


def _has_profile(name: str) -> bool:
    return name in shipped.profile_files("expander") or name.endswith(".toml")
