"""What a page needs before its first question: systems, themes, colours, and the values of curves."""

from dataclasses import asdict
from typing import Any

from pcielab import __version__
from pcielab.explore import normal
from pcielab.explore.compiled import curve_values
from pcielab.explore.question import FIRST, Systems
from pcielab.library.profiles import ResolvedSystem
from pcielab.library.profiles.keys import keys_of
from pcielab.report.style import BOUND_COLOURS, configuration


def setting_of(systems: Systems) -> dict[str, Any]:
    """The setting of a page about these systems."""
    return {
        "version": __version__,
        "systems": systems.names,
        "experimental": systems.experimental,
        "opening": systems.opening.model_dump(),
        "first": FIRST,
        "themes": {theme: configuration(theme) for theme in ("light", "dark")},
        "bounds": BOUND_COLOURS,
        **curve_values(),
        "normal": normal.words(),
    }


def described(system: ResolvedSystem) -> dict[str, Any]:
    """Title and keys of a system, for the controls of a page."""
    keys = keys_of(system.system, system.source_of)
    return {"title": system.title, "keys": [asdict(key) | {"group": key.group} for key in keys]}
