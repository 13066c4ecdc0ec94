"""What a system is called whose values were changed, which its own title says nothing of."""

from collections.abc import Mapping
from typing import Any


def changed_title(name: str, title: str, overrides: Mapping[str, Any]) -> str:
    """One line for people about a system whose values were changed, which its own title says nothing of.

    Args:
        name: of the system.
        title: of the system as its file has it.
        overrides: what was changed, by dotted key; the title stands as it is where nothing was.
    """
    if not overrides:
        return title
    return f"{changed_name(name, overrides)}, which was: {title}"


def changed_name(name: str, overrides: Mapping[str, Any]) -> str:
    """The name of a system, and what was changed in it."""
    changes = ", ".join(f"{key}={value}" for key, value in overrides.items())
    return f"{name} changed ({changes})" if changes else name
