"""Loads every module of pcielab, except one whose package neither `make dev` nor `make build` installs."""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from importlib.util import find_spec

import pcielab

NEEDS_PACKAGE = {"pcielab.port.cocotb_host": "cocotb"}
"""The package without which a module is skipped. All other modules must load."""


def module_names() -> Iterator[str]:
    """Names of the modules that a command may need, in the order of the packages."""
    for module in pkgutil.walk_packages(pcielab.__path__, "pcielab."):
        if not module.name.rpartition(".")[2].startswith(("test_", "conftest", "__main__")):
            yield module.name


def load(names: Iterable[str]) -> list[str]:
    """Load modules; returns those that were skipped. A package that is installed but broken is an error."""
    skipped = []
    for name in names:
        package = NEEDS_PACKAGE.get(name)
        if package is not None and find_spec(package) is None:
            skipped.append(name)
        else:
            importlib.import_module(name)
    return skipped
