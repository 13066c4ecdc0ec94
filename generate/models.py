"""Python types of Rust types: tables of descriptions, answers, records, words; each key has its documentation."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from generate.schema import documentation, is_optional, literal, plain_type, reference, source, words
from pcielab import _core


def schemas(about: str) -> dict[str, Any]:
    """The schemas of a group of types, by name."""
    found: dict[str, Any] = json.loads(_core.schemas(about))
    return found


def tables_below(kinds: Mapping[str, Any], *roots: str) -> list[str]:
    """The roots and the types with keys below them, each after the types that it contains."""
    seen: dict[str, None] = {}

    def visit(name: str) -> None:
        if name in seen or "properties" not in kinds.get(name, {}):
            return
        for described in kinds[name]["properties"].values():
            inner = (described, described.get("items"), described.get("additionalProperties"))
            for one in inner:
                visit(reference(one) if isinstance(one, dict) else "")
        seen[name] = None

    for root in roots:
        visit(root)
    return list(seen)


class Models:
    """Python types of some Rust types."""

    def __init__(
        self, kinds: Mapping[str, Any], *, named: Collection[str] = (), renamed: Mapping[str, str] | None = None
    ) -> None:
        """For the types `kinds`; types of words get a name if they are in `named`, else a literal."""
        self.kinds = kinds
        self._named = named
        self._renamed = renamed or {}

    def words(self, name: str) -> str:
        """A literal type of words."""
        kind = self.kinds[name]
        return f"{self.called(name)}: TypeAlias = {literal(words(kind))}\n{documentation(kind['description'], '')}"

    def enumeration(self, name: str) -> str:
        """An enumeration of words."""
        kind = self.kinds[name]
        members = []
        for option in kind["oneOf"]:
            members.append(f"    {option['const'].upper().replace('-', '_')} = {source(option['const'])}")
            members.append(documentation(option["description"]))
        return "\n".join(
            [f"class {self.called(name)}(StrEnum):", documentation(kind["description"]), "", *members]
        )

    def declared(
        self,
        name: str,
        base: str,
        *,
        without: Collection[str] = (),
        only: Collection[str] | None = None,
        called: str = "",
        about: str = "",
        part: str | None = None,
    ) -> str:
        """The keys of a table that the compiled half reads and checks."""
        kind = self.kinds[name]
        lines = [f"class {called or name}({base}):", documentation(about or kind["description"]), ""]
        if part:
            lines.append(f"    part = {source(part)}\n")
        for key, described in _kept(kind, without, only):
            lines += [f"    {key}: {self._seen(described)}", documentation(described["description"])]
        return "\n".join(lines) + "\n"

    def _seen(self, described: Mapping[str, Any]) -> str:
        """The type of a checked value."""
        optional = " | None" if is_optional(described) else ""
        options = [option for option in described.get("anyOf", ()) if option != {"type": "null"}]
        if len(options) > 1:
            seen = (literal([one["const"]]) if "const" in one else self._seen(one) for one in options)
            return " | ".join(seen) + optional
        if len(options) == 1 and "anyOf" in options[0]:
            return self._seen(options[0]) + optional
        if referred := reference(described):
            kind = self.kinds[referred]
            if choices := words(kind):
                return literal(choices) + optional
            return (self.called(referred) if "properties" in kind else self._seen(kind)) + optional
        if "enum" in described:
            return literal([value for value in described["enum"] if value is not None]) + optional
        kind = plain_type(described)
        if kind == "array":
            return f"list[{self._seen(described['items'])}]{optional}"
        if kind == "object":
            return f"dict[str, {self._seen(described['additionalProperties'])}]{optional}"
        return {"boolean": "bool", "integer": "int", "number": "float", "string": "str"}[kind] + optional

    def answer(self, name: str, base: str) -> str:
        """The model of an answer: every key is present."""
        return self._class(name, f"class {self.called(name)}({base}):", [self.kinds[name]])

    def record(self, name: str, *, enumerations: bool = True, slots: bool = False) -> str:
        """A dataclass whose fields may have defaults; those of words are members of enumerations, or literals.

        With slots, many objects take less memory.
        """
        options = "frozen=True, kw_only=True" + (", slots=True" if slots else "")
        head = f"@dataclass({options})\nclass {self.called(name)}:"
        default = self._default if enumerations else _literal_default
        return self._class(name, head, [self.kinds[name]], default)

    def typed(self, name: str) -> str:
        """A mapping as it comes out of JSON; if it has several shapes, every key is optional."""
        shapes = self.kinds[name].get("anyOf", [self.kinds[name]])
        head = f"class {self.called(name)}(TypedDict{', total=False' if len(shapes) > 1 else ''}):"
        return self._class(name, head, shapes)

    def _class(
        self,
        name: str,
        head: str,
        shapes: Iterable[Mapping[str, Any]],
        default_of: Callable[[Mapping[str, Any]], str] = lambda _: "",
    ) -> str:
        """A class with every key of some shapes."""
        lines = [head, documentation(self.kinds[name]["description"]), ""]
        for key, described in (item for shape in shapes for item in shape["properties"].items()):
            default = default_of(described)
            lines += [f"    {key}: {self._plain(described)}{default}", documentation(described["description"])]
        return "\n".join(lines) + "\n"

    def called(self, name: str) -> str:
        """The name of a type in Python."""
        return self._renamed.get(name, name)

    def _default(self, described: Mapping[str, Any]) -> str:
        default = described.get("default")
        if isinstance(default, dict):
            return f" = {self.called(reference(described))}()"
        if default is not None and reference(described):
            return f" = {self.called(reference(described))}.{default.upper()}"
        return f" = {source(default)}" if default is not None or is_optional(described) else ""

    def _plain(self, described: Mapping[str, Any]) -> str:
        """The type of a value that Python does not check."""
        optional = " | None" if is_optional(described) else ""
        if referred := reference(described):
            return (self.called(referred) if self._is_here(referred) else "dict[str, Any]") + optional
        kind = plain_type(described)
        if kind == "array" and "prefixItems" in described:
            return f"tuple[{', '.join(map(self._plain, described['prefixItems']))}]{optional}"
        if kind == "array":
            return f"list[{self._plain(described['items'])}]{optional}"
        if kind == "object":
            return f"dict[str, {self._plain(described['additionalProperties'])}]{optional}"
        return {"boolean": "bool", "integer": "int", "number": "float", "string": "str"}[kind] + optional

    def _is_here(self, name: str) -> bool:
        return name in self.kinds and (not words(self.kinds[name]) or name in self._named)


def _literal_default(described: Mapping[str, Any]) -> str:
    default = described.get("default")
    return f" = {source(default)}" if default is not None or is_optional(described) else ""


def fits(schema: Mapping[str, Any]) -> str:
    """The annotation that checks a value against a schema, as Python source."""
    return f"Fits({', '.join(f'{keyword}={_grouped(limit)}' for keyword, limit in schema.items())})"


def _kept(
    kind: Mapping[str, Any], without: Iterable[str], only: Collection[str] | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key, described in kind["properties"].items():
        if key not in without and (only is None or key in only):
            yield key, described


def _grouped(value: object) -> str:
    """A number with grouped thousands; other values unchanged."""
    if isinstance(value, int | float) and value == int(value):
        return f"{int(value):_}"
    return source(value)
