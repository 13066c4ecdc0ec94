"""Packages whose names load at first use, so that a command waits only for what it needs.

The stub `__init__.pyi` of a package lists its names once, for this module, for editors and for type checkers.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def names_on_demand(package: str, file: str) -> "tuple[Callable[[str], Any], Callable[[], list[str]]]":
    """The `__getattr__` and `__dir__` of a package.

    Args:
        package: Its name.
        file: Its `__init__.py`, which has the stub beside it.
    """
    modules: dict[str, str] = {}

    def read_stub() -> dict[str, str]:
        if not modules:
            import ast
            from pathlib import Path

            for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ImportFrom) and node.module:
                    modules.update(dict.fromkeys((alias.name for alias in node.names), node.module))
        return modules

    def load(name: str) -> "Any":
        if name == "__all__":
            return sorted(read_stub())
        if name.startswith("__") and name != "__version__":
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        module = read_stub().get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}") if module == package else getattr(import_module(module), name)

    return load, lambda: sorted(read_stub())
