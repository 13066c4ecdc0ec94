"""Packages that only some uses need: loaded when these begin, and named where they are not installed."""

import importlib
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
        raise InputError(
            f"{module.partition('.')[0]} is not installed ({error}): pip install 'pcielab[{extra}]'"
        ) from None
