"""Packages whose names are loaded when they are first used, so that a command waits only for what it needs.

The names are imported under `TYPE_CHECKING` too, where editors and type checkers find them.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any


def names_on_demand(
    package: str, modules: "Mapping[str, Iterable[str]]", rooms: "Iterable[str]" = ()
) -> "Callable[[str], Any]":
    """The `__getattr__` of a package.

    Args:
        package: Its name.
        modules: The names that it offers, by the module that has them.
        rooms: Packages inside of it that it offers whole.
    """
    inside = frozenset(rooms)
    home = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> "Any":
        import importlib

        if name in inside:
            return importlib.import_module(f"{package}.{name}")
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(home[name]), name)

    return load
