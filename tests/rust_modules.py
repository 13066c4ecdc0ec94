"""Which files of a Rust crate use what other files of it define: read from the sources, as a reader would.

One file uses another if it names something that the other defines (by an import, by a path, or through a
re-export, which is looked through), or calls a method that the other adds to a type from elsewhere. A re-export by
itself is no use, and neither is what only tests do. It is no compiler: it knows modules, items, imports and paths,
and nothing of types.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Name = tuple[str, ...]
"""A module, as the names from the root of its crate down to it."""

Graph = dict[Name, set[Name]]

TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/"  # comments
    r'|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"'  # texts
    r"|b?'(?:\\.[^']*|[^\\'])'|'\w+"  # characters, lifetimes
    r"|[A-Za-z_]\w*|::|->|=>|[^\s\w]",
    re.DOTALL,
)
WORD = re.compile(r"[A-Za-z_]\w*$")
ITEMS = {"fn", "struct", "enum", "union", "trait", "type", "const", "static", "macro_rules"}


@dataclass(frozen=True)
class Token:
    text: str
    line: int


@dataclass(frozen=True)
class Import:
    path: Name
    line: int
    exported: bool


@dataclass(frozen=True)
class Found:
    """A module, or something that its file defines."""

    module: Name
    is_item: bool


@dataclass
class Source:
    """A file: what it defines, imports and names, without its tests."""

    path: Path
    children: set[str] = field(default_factory=set)
    items: set[str] = field(default_factory=set)
    imports: dict[str, Import] = field(default_factory=dict)
    globs: list[Import] = field(default_factory=list)
    named: dict[str, int] = field(default_factory=dict)
    """Words outside of imports, with the first line of each."""
    paths: list[tuple[Name, int]] = field(default_factory=list)
    extended: list[tuple[Name, dict[str, bool]]] = field(default_factory=list)
    """Types with inherent methods given here, and those methods: whether other files may call them."""
    called: dict[str, int] = field(default_factory=dict)
    """Methods called, with the first line of each."""
    functions: list[str] = field(default_factory=list)
    """Functions and methods defined, at any depth."""


def tokens(text: str) -> list[Token]:
    """The tokens of a source: no comments, texts or lifetimes, and nothing that is there for tests alone."""
    found = []
    for match in TOKEN.finditer(text):
        word = match[0]
        if not word.startswith(("//", "/*", '"', "'", "b'", 'b"', 'r"', "r#", "br")) or WORD.match(word):
            found.append(Token(word, text.count("\n", 0, match.start()) + 1))
    return without_attributes(found)


def end_of_block(found: list[Token], start: int, opening: str, closing: str) -> int:
    """The place behind the bracket that closes the one at ``start``."""
    depth = 0
    for place in range(start, len(found)):
        depth += (found[place].text == opening) - (found[place].text == closing)
        if depth == 0:
            return place + 1
    return len(found)


def end_of_item(found: list[Token], start: int) -> int:
    """The place behind an item: its semicolon, or its block."""
    place = start
    while place < len(found):
        match found[place].text:
            case ";" | ",":
                return place + 1
            case "{":
                return end_of_block(found, place, "{", "}")
            case "(":
                place = end_of_block(found, place, "(", ")")
            case "[":
                place = end_of_block(found, place, "[", "]")
            case _:
                place += 1
    return place


def without_attributes(found: list[Token]) -> list[Token]:
    """Without attributes, and without the items that are there for tests alone."""
    kept = []
    place = 0
    while place < len(found):
        if found[place].text != "#":
            kept.append(found[place])
            place += 1
            continue
        start = place + 1 + (found[place + 1].text == "!")
        place = end_of_block(found, start, "[", "]")
        if "".join(token.text for token in found[start:place]) == "[cfg(test)]":
            while place < len(found) and found[place].text == "#":
                place = end_of_block(found, place + 1, "[", "]")
            place = end_of_item(found, place)
    return kept


def imports(found: list[Token], place: int, prefix: Name, exported: bool, source: Source) -> int:
    """Reads the tree of a ``use`` from a place on; returns the place behind it."""
    path = prefix
    while place < len(found):
        token = found[place]
        match token.text:
            case "::":
                place += 1
            case "{":
                place += 1
                while found[place].text != "}":
                    place = imports(found, place, path, exported, source)
                    place += found[place].text == ","
                return place + 1
            case "*":
                source.globs.append(Import(path, token.line, exported))
                return place + 1
            case "as":
                source.imports[found[place + 1].text] = Import(path, token.line, exported)
                return place + 2
            case "," | ";" | "}":
                if path[-1] == "self":
                    path = path[:-1]
                source.imports[path[-1]] = Import(path, token.line, exported)
                return place
            case word:
                path = (*path, word)
                place += 1
    return place


def extended_type(header: list[Token]) -> Name | None:
    """The type in ``impl<...> TYPE<...>``; none where a trait is implemented."""
    words = [token.text for token in header]
    if "for" in words:
        return None
    depth, path = 0, []
    for word in words:
        depth += (word == "<") - (word == ">")
        if word == "where" or (path and depth):
            break
        if depth == 0 and WORD.match(word):
            path.append(word)
    return tuple(path)


def methods(block: list[Token]) -> dict[str, bool]:
    """The methods in a block of them: whether each is for other files than its own and those below it."""
    found = {}
    for place, token in enumerate(block):
        if token.text == "fn":
            before = {word.text for word in block[max(0, place - 6) : place]}
            found[block[place + 1].text] = "pub" in before
    return found


def read(path: Path) -> Source:
    source = Source(path)
    found = tokens(path.read_text())
    place = depth = 0
    while place < len(found):
        token = found[place]
        word, before = token.text, found[place - 1].text if place else ""
        following = found[place + 1].text if place + 1 < len(found) else ""
        depth += (word == "{") - (word == "}")
        if word == "pub" and following == "(":
            place = end_of_block(found, place + 1, "(", ")")
            continue
        if word == "use" and before not in (".", "+", "->", "::") and following != "<":
            place = imports(found, place + 1, (), before in ("pub", ")"), source)
            continue
        if word == "mod" and WORD.match(following):
            if found[place + 2].text == ";":
                source.children.add(following)
            place += 2
            continue
        if word in ITEMS and depth == 0 and (WORD.match(following) or following == "!"):
            source.items.add(found[place + 2].text if following == "!" else following)
        if word == "impl" and depth == 0:
            start = place + 1
            opening = next(at for at in range(start, len(found)) if found[at].text == "{")
            if extended := extended_type(found[start:opening]):
                block = found[opening : end_of_block(found, opening, "{", "}")]
                source.extended.append((extended, methods(block)))
        if WORD.match(word) and before != "::":
            if before == "." and following in ("(", "::"):
                source.called.setdefault(word, token.line)
            elif before == "fn":
                source.functions.append(word)
            elif before != ".":
                source.named.setdefault(word, token.line)
        if WORD.match(word) and before != "::" and following == "::":
            names = [word]
            while place + 2 < len(found) and found[place + 1].text == "::" and WORD.match(found[place + 2].text):
                names.append(found[place + 2].text)
                place += 2
            source.paths.append((tuple(names), token.line))
            if names[0] == "Self":
                source.called.setdefault(names[1], token.line)
        place += 1
    return source


class Crate:
    """The files of a crate, by module, and what they use of each other."""

    def __init__(self, folder: Path) -> None:
        self.sources: dict[Name, Source] = {}
        root = next(path for path in (folder / "lib.rs", folder / "main.rs") if path.exists())
        self.add((), root, folder)
        self.uses: dict[Name, dict[Name, str]] = defaultdict(dict)
        self.find_uses()

    def add(self, module: Name, path: Path, folder: Path) -> None:
        source = self.sources[module] = read(path)
        for child in source.children:
            file = next(path for path in (folder / f"{child}.rs", folder / child / "mod.rs") if path.exists())
            self.add((*module, child), file, folder / child)

    def find(self, module: Name, path: Name, seen: frozenset[tuple[Name, Name]] = frozenset()) -> Found | None:
        """What a path in a module names; none if it is of another crate."""
        if (module, path) in seen:
            return None
        seen |= {(module, path)}
        while path and path[0] in ("crate", "self", "super"):
            module = () if path[0] == "crate" else module if path[0] == "self" else module[:-1]
            path = path[1:]
        source = self.sources[module]
        if not path or path[0] in source.items:
            return Found(module, is_item=bool(path))
        if path[0] in source.children:
            return self.find((*module, path[0]), path[1:], seen)
        if imported := source.imports.get(path[0]):
            return self.find(module, (*imported.path, *path[1:]), seen)
        for glob in source.globs:
            if glob.path[0] in ("crate", "self", "super", *source.children):
                room = self.find(module, glob.path, seen)
                found = room and self.find(room.module, path, seen)
                if found is not None:
                    return found
        return None

    def note(self, user: Name, found: Found | None, what: str, line: int) -> None:
        if found is not None and found.is_item and found.module != user:
            self.uses[user].setdefault(found.module, f"{what}, line {line}")

    def find_uses(self) -> None:
        for module, source in self.sources.items():
            for name, imported in source.imports.items():
                if not imported.exported or name in source.named:
                    line = source.named.get(name, imported.line)
                    self.note(module, self.find(module, imported.path), name, line)
            for path, line in source.paths:
                if path[0] not in source.items:
                    self.note(module, self.find(module, path), "::".join(path), line)
        self.find_calls()

    def find_calls(self) -> None:
        """Calls of methods that a file adds to a type from elsewhere, by names that nothing else has."""
        defined = Counter(name for source in self.sources.values() for name in source.functions)
        added = {
            method: (module, public)
            for module, source in self.sources.items()
            for path, methods in source.extended
            if (owner := self.find(module, path)) is not None and owner.module != module
            for method, public in methods.items()
            if defined[method] == 1
        }
        for caller, source in self.sources.items():
            for method, line in source.called.items():
                if given := added.get(method):
                    module, public = given
                    if public or caller[: len(module)] == module:
                        self.note(caller, Found(module, is_item=True), f"{method}()", line)

    def circles(self) -> list[str]:
        """Circles of files, and of rooms: each a module with all that is below it, among those beside it."""
        graphs = [{user: set(used) for user, used in self.uses.items()}]
        for room in self.sources:
            beside: dict[Name, set[Name]] = defaultdict(set)
            for user, used in self.inside(room):
                beside[user[: len(room) + 1]].add(used[: len(room) + 1])
            graphs.append(beside)
        return list(dict.fromkeys(self.told(circle) for graph in graphs for circle in circles(graph)))

    def inside(self, room: Name) -> Iterator[tuple[Name, Name]]:
        """The uses between the rooms of a room."""
        depth = len(room) + 1
        for user, others in self.uses.items():
            for used in others:
                within = user[: depth - 1] == used[: depth - 1] == room
                if within and len(user) >= depth <= len(used) and user[:depth] != used[:depth]:
                    yield user, used

    def told(self, circle: list[Name]) -> str:
        """A circle, with one use for each of its steps."""
        return " -> ".join(self.use(a, b) for a, b in zip(circle, [*circle[1:], circle[0]], strict=True))

    def use(self, room: Name, other: Name) -> str:
        """How a file, or one in a room, uses the other."""
        for user in sorted(self.sources, key=lambda module: (module != room, module)):
            for used, how in self.uses.get(user, {}).items():
                if user[: len(room)] == room and used[: len(other)] == other:
                    return f"{self.sources[user].path} ({how})"
        raise AssertionError(f"{room} does not use {other}")


def circles(graph: Graph) -> list[list[Name]]:
    """Circles of a graph: a shortest one, and those that are left where that is cut."""
    found = []
    graph = {node: set(targets) for node, targets in graph.items()}
    while circle := shortest_circle(graph):
        found.append(circle)
        graph[circle[-1]].discard(circle[0])
    return found


def shortest_circle(graph: Graph) -> list[Name] | None:
    best: list[Name] | None = None
    for start in sorted(graph):
        came_from: dict[Name, Name] = {}
        queue = [start]
        for node in queue:
            for target in sorted(graph.get(node, ())):
                if target == start:
                    circle = [node]
                    while circle[-1] != start:
                        circle.append(came_from[circle[-1]])
                    circle.reverse()
                    if best is None or len(circle) < len(best):
                        best = circle
                    queue.clear()
                    break
                if target not in came_from and target != start:
                    came_from[target] = node
                    queue.append(target)
    return best
