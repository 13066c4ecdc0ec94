"""Python models of Rust types: tables of files, answers, records and words, each key with its documentation.

What a range is called in `pcielab.library.profiles.part` is said here; where a key says no range its name does:
shares lie from 0 to 1, times of a step below 100 us, counts and sizes fill their 32 bits.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from generate.schema import documentation, is_optional, literal, plain_type, reference, source, words
from pcielab import _core

_RANGES: dict[tuple[str, float | None, float | None], str] = {
    ("number", 0, 10**9): "Nanoseconds",
    ("integer", 0, 63): "Socket",
    ("integer", 0, 4096): "Padding",
}
"""Types of `pcielab.library.profiles.part` by the range that they have."""
_TEXTS: dict[tuple[int | None, int | None], str] = {(1, 200): "Name", (1, 1000): "Title", (None, 200): "Label"}
"""The same of texts, by their least and greatest length."""
_KNOWN = {"name": "Name", "title": "Title", "chunk_addresses": "Address"}
"""Types by key, where the schema says no length or multiple."""
_SPECIAL = {"StepBytes": "StepBytes"}
"""Types of which `pcielab.library.profiles.part` says better what is wrong with a value."""


def schemas(about: str) -> dict[str, Any]:
    """The schemas of all types that are about something, by name."""
    found: dict[str, Any] = json.loads(_core.schemas())[about]
    return found


def tables_below(kinds: Mapping[str, Any], *roots: str) -> list[str]:
    """Types with keys that the roots are made of, and the roots, each after those that it holds."""
    seen: dict[str, None] = {}

    def visit(name: str) -> None:
        if name in seen or "properties" not in kinds.get(name, {}):
            return
        for described in kinds[name]["properties"].values():
            visit(reference(described) or reference(described.get("items", {})))
        seen[name] = None

    for root in roots:
        visit(root)
    return list(seen)


class Models:
    """Models of types, and the names that their module has to import."""

    def __init__(
        self, kinds: Mapping[str, Any], *, named: Collection[str] = (), renamed: Mapping[str, str] | None = None
    ) -> None:
        """Of the types `kinds`; words of types in `named` have a name, others are written out."""
        self.kinds = kinds
        self.imports: set[str] = set()
        """What is used of `pcielab.library.profiles.part`."""
        self._named = named
        self._renamed = renamed or {}

    def words(self, name: str) -> str:
        """The type of one of several words."""
        kind = self.kinds[name]
        return f"{self.called(name)}: TypeAlias = {literal(words(kind))}\n{documentation(kind['description'], '')}"

    def enumeration(self, name: str) -> str:
        """One of several words as an enumeration."""
        kind = self.kinds[name]
        members = []
        for option in kind["oneOf"]:
            members.append(f"    {option['const'].upper().replace('-', '_')} = {source(option['const'])}")
            members.append(documentation(option["description"]))
        return "\n".join(
            [f"class {self.called(name)}(StrEnum):", documentation(kind["description"]), "", *members]
        )

    def table(
        self,
        name: str,
        *,
        base: str = "Part",
        without: Collection[str] = (),
        only: Collection[str] | None = None,
        called: str = "",
        about: str = "",
    ) -> str:
        """A table of a file: strict, with ranges and defaults."""
        kind = self.kinds[name]
        called = called or self.called(name)
        rule = []
        if called in _core.ruled_parts():
            base = "Ruled"
            rule = [f"    rule: ClassVar[str] = {source(called)}\n"]
        if base in ("Part", "Ruled"):
            self.imports.add(base)
        lines = [f"class {called}({base}):", documentation(about or kind["description"]), "", *rule]
        for key, described in _kept(kind, without, only):
            lines += [f"    {key}: {self._field(key, described)}", documentation(described["description"])]
        return "\n".join(lines) + "\n"

    def answer(self, name: str, base: str) -> str:
        """What is answered: every key is there."""
        kind = self.kinds[name]
        lines = [f"class {self.called(name)}({base}):", documentation(kind["description"]), ""]
        for key, described in kind["properties"].items():
            lines += [f"    {key}: {self._plain(described)}", documentation(described["description"])]
        return "\n".join(lines) + "\n"

    def record(self, name: str) -> str:
        """A dataclass whose fields can be left out where they have a default."""
        kind = self.kinds[name]
        lines = [
            "@dataclass(frozen=True, kw_only=True)",
            f"class {self.called(name)}:",
            documentation(kind["description"]),
            "",
        ]
        for key, described in kind["properties"].items():
            lines.append(f"    {key}: {self._plain(described)}{self._default(described)}")
            lines.append(documentation(described["description"]))
        return "\n".join(lines) + "\n"

    def typed(self, name: str) -> str:
        """A mapping as it comes out of JSON; of one of several shapes, every key is one that may be there."""
        kind = self.kinds[name]
        shapes = kind.get("anyOf", [kind])
        head = f"class {self.called(name)}(TypedDict{', total=False' if len(shapes) > 1 else ''}):"
        lines = [head, documentation(kind["description"]), ""]
        for shape in shapes:
            for key, described in shape["properties"].items():
                lines += [f"    {key}: {self._plain(described)}", documentation(described["description"])]
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
        """The type of a value that is not checked in Python."""
        optional = " | None" if is_optional(described) else ""
        if referred := reference(described):
            return (self.called(referred) if self._is_here(referred) else "dict[str, Any]") + optional
        kind = plain_type(described)
        if kind == "array" and "prefixItems" in described:
            return f"tuple[{', '.join(map(self._plain, described['prefixItems']))}]{optional}"
        if kind == "array":
            return f"list[{self._plain(described['items'])}]{optional}"
        return {"boolean": "bool", "integer": "int", "number": "float", "string": "str"}[kind] + optional

    def _is_here(self, name: str) -> bool:
        return name in self.kinds and (not words(self.kinds[name]) or name in self._named)

    def _field(self, key: str, described: Mapping[str, Any]) -> str:
        """Annotation and default of a key of a table."""
        annotation, limits = self._annotation(key, described)
        default = described.get("default")
        optional = is_optional(described)
        if optional:
            annotation += " | None"
        if isinstance(default, dict):
            return f"{annotation} = {annotation}()"
        if limits:
            given = f"default={default!r}, " if default is not None else "default=None, " if optional else ""
            return f"{annotation} = Field({given}{limits})"
        return f"{annotation} = {source(default)}" if default is not None or optional else annotation

    def _annotation(self, key: str, described: Mapping[str, Any]) -> tuple[str, str]:
        """The type of a key, and what a `Field` has to say besides."""
        if referred := reference(described):
            return self._referred(key, referred), ""
        if "enum" in described:
            return literal(described["enum"]), ""
        kind = plain_type(described)
        if kind == "array":
            return self._listed(key, described)
        if kind == "boolean":
            return "bool", ""
        if kind == "string":
            return self._text(key, described), ""
        return self._number(key, kind, described)

    def _text(self, key: str, described: Mapping[str, Any]) -> str:
        lengths = described.get("minLength"), described.get("maxLength")
        alias = _TEXTS.get(lengths) or _KNOWN.get(key)
        return self._import(alias) if alias else "str"

    def _import(self, name: str) -> str:
        self.imports.add(name)
        return name

    def _referred(self, key: str, name: str) -> str:
        if name == "Credits":
            return self._import("DataCredits" if "_data_" in key else "HeaderCredits")
        if name in _SPECIAL:
            return self._import(_SPECIAL[name])
        choices = words(self.kinds[name])
        return literal(choices) if choices and name not in self._named else self.called(name)

    def _listed(self, key: str, described: Mapping[str, Any]) -> tuple[str, str]:
        lengths = {"min_length": described.get("minItems"), "max_length": described.get("maxItems")}
        limits = ", ".join(f"{name}={length}" for name, length in lengths.items() if length is not None)
        referred = reference(described["items"])
        return f"list[{self.called(referred) if referred else self._import(_KNOWN[key])}]", limits

    def _number(self, key: str, kind: str, described: Mapping[str, Any]) -> tuple[str, str]:
        plain = "float" if kind == "number" else "int"
        least, most = described.get("minimum"), described.get("maximum")
        if "exclusiveMinimum" in described:
            return plain, f"gt={described['exclusiveMinimum']:g}" + (f", le={most:g}" if most is not None else "")
        alias = _alias(key, kind, least, most, described.get("format", ""))
        if alias:
            return self._import(alias), ""
        if kind == "integer" and "_bytes" in key:
            plain = self._import("Bytes")
        return plain, f"ge={least or 0:g}, le={_grouped(most or 0)}"


def _kept(
    kind: Mapping[str, Any], without: Iterable[str], only: Collection[str] | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key, described in kind["properties"].items():
        if key not in without and (only is None or key in only):
            yield key, described


def _grouped(number: float) -> str:
    return f"{int(number):_}" if number == int(number) else repr(number)


def _alias(key: str, kind: str, least: int | None, most: int | None, width: str) -> str | None:
    """The type of `pcielab.library.profiles.part` that has a range, and that a key has without one."""
    if kind == "number":
        if most is None:
            return "StepTime" if key.endswith("_ns") else "Share"
        return _RANGES.get((kind, least, most))
    if most is None or (least, most) == (1, 2**32 - 1) or (least, most) == (1, 2**63 - 1):
        if "_bytes" not in key:
            return "Count"
        return "Size" if width == "uint64" else "Size32"
    if (least, most) == (1, 4096) and "quantum" in key:
        return "Quantum"
    return _RANGES.get((kind, least, most))
