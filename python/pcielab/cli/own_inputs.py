"""Refuse to write a command's output over one of its inputs."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from pcielab.errors import InputError, refusal

OUTPUTS = frozenset({"--output", "--pack", "--picture", "--save"})
"""Options that name what a command writes."""
_OVERWRITE = "--overwrite"


def keep_inputs(command: Any) -> None:
    """Make a command, or all commands of a group, refuse an output that is one of its inputs."""
    if hasattr(command, "commands"):
        for inner in command.commands.values():
            keep_inputs(inner)
        return
    if not any(is_output(parameter) for parameter in command.params):
        return
    carry_out = command.callback

    @wraps(carry_out)
    def checked(**values: Any) -> Any:
        refuse_own_inputs(command.params, values)
        return carry_out(**values)

    command.callback = checked


def is_output(parameter: Any) -> bool:
    """Whether a parameter of a command names what the command writes."""
    return not OUTPUTS.isdisjoint(parameter.opts)


def refuse_own_inputs(parameters: Sequence[Any], values: Mapping[str, Any]) -> None:
    """Refuse an output that is an input of the same command, by any path or link.

    An input in a folder that `--overwrite` would replace counts too.

    Args:
        parameters: The command's parameters.
        values: Their values by name.

    Raises:
        InputError: An output and an input are the same file.
    """
    replaces = any(_OVERWRITE in parameter.opts for parameter in parameters)
    inputs = [path for one in parameters if not is_output(one) for path in _paths(values.get(one.name))]
    for parameter in filter(is_output, parameters):
        for output in _paths(values.get(parameter.name)):
            for path in inputs:
                if _is_same(output, path):
                    raise _refusal(output, "is also", path, parameter, "name")
                if replaces and any(_is_same(output, folder) for folder in _folders(path)):
                    raise _refusal(output, "holds", path, parameter, "folder")


def _refusal(output: Path, relation: str, path: Path, parameter: Any, remedy: str) -> InputError:
    return refusal(
        "conflict",
        f"{output}: {relation} an input of this command ({path}): give {parameter.opts[0]} another {remedy}",
    )


def _paths(value: Any) -> Iterator[Path]:
    """The paths in a parameter's value. A word without a slash or a dot is the name of a profile or a test."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _paths(one)
    elif isinstance(value, Path) or (isinstance(value, str) and ("/" in value or "." in value)):
        yield Path(value)


def _folders(path: Path) -> Sequence[Path]:
    """The folders that a file lies in, links followed."""
    return Path(os.path.realpath(path)).parents if _status(path) else ()


def _is_same(first: Path, second: Path) -> bool:
    """Whether two paths lead to the same regular file or folder."""
    one, other = _status(first), _status(second)
    return one is not None and other is not None and os.path.samestat(one, other)


def _status(path: Path) -> os.stat_result | None:
    """The status of a regular file or a folder; None for anything else, as terminals and pipes."""
    try:
        found = path.expanduser().stat()
    except (OSError, RuntimeError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode) else None
