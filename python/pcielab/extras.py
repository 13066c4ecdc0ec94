"""Optional packages: loaded on demand, with the extra to install if one is missing."""

import importlib
import importlib.util
from collections.abc import Sequence
from types import ModuleType

from pcielab.errors import InputError


class ExtraMissingError(InputError, AttributeError):
    """A package of an extra is not installed; the message names the extra.

    An AttributeError too, so that Tab on `pcielab.` and `hasattr` work where `pcielab.report` cannot be loaded.
    """


def needed(module: str, extra: str) -> ModuleType:
    """Import a module of an optional package.

    Args:
        module: Its dotted name.
        extra: The extra of pcielab that installs it.

    Raises:
        ExtraMissingError: It is not installed; the message names the extra.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise _lacking(f"{module.partition('.')[0]} is not installed ({error})", extra) from None


def require(packages: Sequence[str], extra: str) -> None:
    """Check that optional packages are installed, without loading them.

    Args:
        packages: Their import names.
        extra: The extra of pcielab that installs them.

    Raises:
        ExtraMissingError: One is not installed; the message names the extra.
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise _lacking(f"{package} is not installed", extra)


def _lacking(problem: str, extra: str) -> ExtraMissingError:
    return ExtraMissingError(f"{problem}: pip install 'pcielab[{extra}]'")
