"""Packages that only some uses need: loaded when these begin, and named where they are not installed."""

import importlib
import importlib.util
from collections.abc import Sequence
from types import ModuleType

from pcielab.errors import InputError


def needed(module: str, extra: str) -> ModuleType:
    """A module of an optional package.

    Args:
        module: Its dotted name.
        extra: The extra of pcielab that brings it.

    Raises:
        InputError: It is not installed; the message says how to get it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise _lacking(f"{module.partition('.')[0]} is not installed ({error})", extra) from None


def require(packages: Sequence[str], extra: str) -> None:
    """Make sure that optional packages are installed, without loading them.

    Args:
        packages: Their names, as they are imported.
        extra: The extra of pcielab that brings them.

    Raises:
        InputError: One is not; the message says how to get it.
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise _lacking(f"{package} is not installed", extra)


def _lacking(problem: str, extra: str) -> InputError:
    return InputError(f"{problem}: pip install 'pcielab[{extra}]'")
