"""Checked values of a description: tables whose keys are attributes, and a whole system.

The compiled half reads and checks them (`crates/pcie-describe`). `parts` declares their keys for editors.
"""

import copy
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pcielab import _core
from pcielab.errors import refusal
from pcielab.library.alike import suggestion
from pcielab.wording import named

Table: TypeAlias = dict[str, Any]
"""A table of a TOML file."""
_SHOWN = 8


class Values:
    """A table of a description, complete and immutable."""

    __slots__ = ("_table",)
    _table: Mapping[str, Any]

    def __init__(self, table: Mapping[str, Any]) -> None:
        """Hold a table that the compiled half has checked."""
        object.__setattr__(self, "_table", table)

    def dump(self) -> dict[str, Any]:
        """A copy as nested tables, in the order of the keys."""
        content, kind = self._content(), cast(type, type(self))
        return {key: copy.deepcopy(content[key]) for key in keys_of_table(kind) if key in content}

    def unchecked(self, **values: object) -> Self:
        """A copy with other values, which nobody checks."""
        return type(self)({**self._content(), **values})

    def _content(self) -> Mapping[str, Any]:
        return self._table

    if not TYPE_CHECKING:  # Type checkers know only the declared keys.

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or name not in keys_of_table(type(self)):
                raise AttributeError(f"{type(self).__name__} has no key {name}")
            value = self._content().get(name)
            if value is None:
                return value
            if (inner := _tables(type(self)).get(name)) is not None:
                return [inner(one) for one in value] if isinstance(value, list) else inner(value)
            named_tables = _maps(type(self)).get(name)
            return {key: named_tables(one) for key, one in value.items()} if named_tables else value

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: with_ makes a changed copy")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Values) and type(self) is type(other) and self._content() == other._content()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dump()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._table,)


class Part(Values):
    """A link, host or device: it can be changed by itself, and given to a system."""

    part: ClassVar[str] = ""
    """Its key in a system."""

    @classmethod
    def of(cls, values: Mapping[str, object], where: str = "") -> Self:
        """Check values and add the defaults.

        Raises:
            InputError: A value is missing or wrong; `where` names its source.
        """
        return cls(_core.complete_part(cls.part, dict(values), where or cls.part))

    def with_(self, **changes: object) -> Self:
        """This part with changes, by any unambiguous end of a key: `llc_ddio_ways=4`.

        Raises:
            InputError: A name is unknown or ambiguous, or a value is wrong.
        """
        content = self.dump()
        for name, value in changes.items():
            content = _core.replaced(content, key_of(name, type(self)), value)
        return self.of(content)


class _Handle(Protocol):
    def json(self) -> str: ...
    def values(self) -> dict[str, Any]: ...


_HandleT = TypeVar("_HandleT", bound=_Handle)


class Described(Values, Generic[_HandleT]):
    """A complete description, and its form for the compiled half."""

    __slots__ = ("handle",)
    handle: _HandleT

    def __init__(self, handle: _HandleT, values: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Hold a description of the compiled half; its values are read at first use, unless they are given."""
        super().__init__(values)
        object.__setattr__(self, "handle", handle)

    @classmethod
    @abstractmethod
    def of_json(cls, text: str) -> Self:
        """The description of its JSON.

        Raises:
            InputError: A key is missing, or a value wrong.
        """

    def json(self) -> str:
        """Canonical JSON: keys sorted, no spaces, every key present."""
        return self.handle.json()

    def _content(self) -> Mapping[str, Any]:
        if not self._table:
            object.__setattr__(self, "_table", self.handle.values())
        return self._table

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of_json, (self.json(),)


class InFile(Described[_HandleT]):
    """A description with a file of its own: a NIC, an engine, a memory expander, a core, a BAR, or messages."""

    __slots__ = ()

    compiled: ClassVar[Any]
    """Its class in the compiled half."""
    word: ClassVar[str]
    """Its kind, in messages."""

    @classmethod
    def of_json(cls, text: str) -> Self:
        """The description of its JSON.

        Raises:
            InputError: A key is missing, or a value wrong.
        """
        return cls(cls.compiled.of_json(text, cls.word))

    def with_(self, changes: Mapping[str, object], giver: str = "") -> Self:
        """The description with changes by dotted key: `{"queues.pairs": 4, "step.1.batch": 8}`.

        `giver`, unless empty, names what gave them in messages.

        Raises:
            InputError: A key is unknown, or a value wrong.
        """
        changed: Any = self.handle
        return type(self)(changed.with_(dict(changes), giver))


class Whole(Described[_core.System]):
    """A complete system, and its form for the compiled half."""

    __slots__ = ()

    @classmethod
    def of_json(cls, text: str) -> Self:
        """The system of its JSON.

        Raises:
            InputError: A key is missing, or a value wrong.
        """
        return cls(_core.System.of_json(text))

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Self:
        """The system of nested tables, like `of_json`."""
        return cls.of_json(json.dumps(values))

    def with_(self, changes: Mapping[str, object]) -> Self:
        """This system with changes by dotted key, without its files.

        Raises:
            InputError: A key is unknown, a value is wrong, or the system is impossible.
        """
        return type(self)(self.handle.with_(dict(changes)))

    def each_with(self, variants: Sequence[Mapping[str, object]]) -> list[Self | None]:
        """This system with the changes of each variant, like `with_`; None where they make it impossible."""
        found = self.handle.each_with([dict(changes) for changes in variants])
        return [None if handle is None else type(self)(handle) for handle in found]


@cache
def keys_of_table(kind: type) -> tuple[str, ...]:
    """The keys of a table, in their order."""
    declared = (vars(one).get("__annotations__", {}) for one in reversed(kind.__mro__) if one not in _BASES)
    return tuple(key for keys in declared for key in keys)


@cache
def _tables(kind: type) -> dict[str, type]:
    """The keys of a table that hold tables, or lists of them."""
    hints = get_type_hints(kind)
    found = {key: _table_in(hints[key]) for key in keys_of_table(kind) if get_origin(hints[key]) is not dict}
    return {key: inner for key, inner in found.items() if inner is not None}


@cache
def _maps(kind: type) -> dict[str, type]:
    """The keys of a table that hold tables by name."""
    hints = get_type_hints(kind)
    found = {key: _table_in(hints[key]) for key in keys_of_table(kind) if get_origin(hints[key]) is dict}
    return {key: inner for key, inner in found.items() if inner is not None}


def _table_in(annotation: Any) -> type[Values] | None:
    """The table in an annotation, through `X | None` and `list[X]`."""
    if isinstance(annotation, type) and issubclass(annotation, Values):
        return annotation
    return next((found for one in get_args(annotation) if (found := _table_in(one))), None)


_BASES = (object, Generic, Values, Described, InFile, Part, Whole)


@cache
def known_keys(kind: type) -> list[str]:
    """Every dotted key of a table."""
    keys = []
    for name in keys_of_table(kind):
        inner = _tables(kind).get(name)
        keys += [name, *(f"{name}.{key}" for key in known_keys(inner))] if inner else [name]
    return keys


def key_of(name: str, kind: type) -> str:
    """The dotted key of a name; a name with dots is returned unchanged.

    Args:
        name: The key, or an end of it with underscores for dots.
        kind: The table that has the key.

    Raises:
        InputError: No key ends with the name, or several do.
    """
    if "." in name:
        return name
    found = _ending(kind).get(name, ())
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(key.replace(".", "_") for key in found[:_SHOWN])
        raise refusal(
            "conflict", f"{named(name)}: {len(found)} keys end with it: give a longer end of one: {listed}"
        )
    raise refusal("unknown-key", f"{named(name)}: no key ends with it: {suggestion(name, _ending(kind))}")


def is_ending(name: str, kind: type) -> bool:
    """Whether a name, with underscores for dots, ends a key of a table."""
    return name in _ending(kind)


@cache
def _ending(kind: type) -> dict[str, tuple[str, ...]]:
    """The keys with each ending; a whole key stands for itself only."""
    keys = known_keys(kind)
    ending: dict[str, tuple[str, ...]] = {}
    for key in keys:
        steps = key.split(".")
        for first in range(len(steps)):
            end = "_".join(steps[first:])
            ending[end] = (*ending.get(end, ()), key)
    return ending | {key.replace(".", "_"): (key,) for key in keys}
