"""Load names of a package on first use, so that commands start fast.

The packages also import the names under `TYPE_CHECKING`, for editors and type checkers.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any


def names_on_demand(
    package: str, modules: "Mapping[str, Iterable[str]]", subpackages: "Iterable[str]" = ()
) -> "Callable[[str], Any]":
    """The `__getattr__` of a package.

    Args:
        package: Its name.
        modules: The names that it exports, by module.
        subpackages: The subpackages that it exports.
    """
    inside = frozenset(subpackages)
    home = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> "Any":
        import importlib

        if name in inside:
            return importlib.import_module(f"{package}.{name}")
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(home[name]), name)

    return load
