"""Arguments of wrong types: TypeError names the first, instead of the error that it led to somewhere inside.

Types are only looked at once a call has failed, by the names in the function's annotations: a call that works pays
nothing, and a type that this module cannot judge counts as right.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from os import PathLike
from types import UnionType
from typing import Any, ParamSpec, TypeVar, get_args

from pcielab.errors import InputError
from pcielab.wording import shown

P = ParamSpec("P")
R = TypeVar("R")
_FAILED = (ArithmeticError, AttributeError, LookupError, RecursionError, StopIteration, ValueError)
_BUILT_IN: dict[str, type | tuple[type, ...]] = {
    "bool": bool,
    "bytes": bytes,
    "float": (int, float),
    "int": int,
    "None": type(None),
    "NoneType": type(None),
    "Path": PathLike,
    "PathLike": PathLike,
    "str": str,
}
_MANY = ("Collection", "Iterable", "Iterator", "Sequence", "list", "tuple")


def refuses_wrong_types(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function raise TypeError where it fails at an argument whose type is not that of its annotation."""

    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return function(*arguments, **named)
        except InputError:
            raise
        except _FAILED as error:
            wrong = _first_wrong(function, inspect.signature(function).bind(*arguments, **named).arguments)
            if wrong is None:
                raise
            raise TypeError(f"{function.__name__}: {wrong}") from error

    return call


def _first_wrong(function: Callable[..., Any], given: Mapping[str, object]) -> str | None:
    """The first argument of a wrong type, and the right one, in words."""
    for name, value in given.items():
        annotation = function.__annotations__.get(name)
        if annotation is not None and not _fits(value, annotation, function):
            wanted = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
            return f"{name} is {shown(value)}: give {wanted}"
    return None


def _fits(value: object, annotation: Any, function: Callable[..., Any]) -> bool:
    """Whether a value may have the type of an annotation; True where that is not known."""
    if not isinstance(annotation, str):
        if isinstance(annotation, UnionType):
            return any(_fits(value, one, function) for one in get_args(annotation))
        annotation = inspect.formatannotation(annotation)
    return any(
        _is_one(value, one, function) for one in _alternatives(annotation.replace('"', "").replace("'", ""))
    )


def _alternatives(annotation: str) -> Iterator[str]:
    """The types of a union in words."""
    depth, start = 0, 0
    for index, letter in enumerate(f"{annotation}|"):
        depth += (letter in "[(") - (letter in "])")
        if letter == "|" and depth == 0:
            yield annotation[start:index].strip()
            start = index + 1


def _is_one(value: object, word: str, function: Callable[..., Any]) -> bool:
    head, _, inner = word.partition("[")
    name = head.rpartition(".")[2]
    if name in _BUILT_IN:
        return isinstance(value, _BUILT_IN[name]) and (name == "bool" or not isinstance(value, bool))
    if name == "Literal":
        return str(value) in {one.strip() for one in inner.removesuffix("]").split(",")}
    if name in ("Mapping", "dict"):
        return isinstance(value, Mapping)
    if name == "Callable":
        return callable(value)
    if name in _MANY:
        return _are(value, inner.removesuffix("]").removesuffix(", ..."), function)
    if name in ("Optional", "Union"):
        return any(_fits(value, one.strip(), function) for one in inner.removesuffix("]").split(","))
    known = getattr(function, "__globals__", {}).get(name)
    if known is not None and not isinstance(known, type):
        return _fits(value, known, function) if isinstance(known, str | UnionType) or get_args(known) else True
    if getattr(known, "_is_protocol", False) or not name[:1].isupper():
        return True
    return any(one.__name__ == name for one in type(value).__mro__)


def _are(value: object, inner: str, function: Callable[..., Any]) -> bool:
    """Whether a value is a collection of such values; the elements of an iterator stay unread."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return isinstance(value, str) and inner == "str"
    return (
        not isinstance(value, list | tuple | set) or not inner or all(_fits(one, inner, function) for one in value)
    )
