"""The reference of the Python API (`docs/reference/api.md`), from the docstrings of the names of `pcielab`."""

import inspect
import re
from collections.abc import Iterator
from types import FunctionType, ModuleType

import pcielab

_INTRODUCTION = """\
# Python API: every name

<!-- Written by `make generate` from docstrings: change them in python/pcielab. -->

Every name that `import pcielab` offers. [The Python API](python.md) shows how they work together.
"""
_SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields):$")
_ENTRY = re.compile(r"    (\*{0,2}\w[\w, ]*): (.*)")
_MODULE = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])")
_QUOTED = re.compile(r"(: |-> )'([^']*)'")
"""A type that is written as a text."""
_NOT_SET = re.compile(r"<function (\w+) at 0x[0-9a-f]+>")


def markdown() -> str:
    """The whole page."""
    named = [(name, getattr(pcielab, name)) for name in dir(pcielab) if not name.startswith("__")]
    kinds = (
        ("Functions", [one for one in named if inspect.isfunction(one[1])]),
        ("Modules", [one for one in named if inspect.ismodule(one[1])]),
        ("Classes", [one for one in named if inspect.isclass(one[1])]),
    )
    lines = [_INTRODUCTION]
    for title, listed in kinds:
        lines += [f"## {title}\n"]
        for name, found in listed:
            lines += [f"### pcielab.{name}\n", *_described(found), ""]
    return "\n".join(lines).rstrip() + "\n"


def _described(found: object) -> Iterator[str]:
    if isinstance(found, FunctionType):
        yield from (*(f"    {line}" for line in _signature(found)), "")
    yield from _flowing(inspect.getdoc(found) or "")
    if isinstance(found, ModuleType):
        names = [name for name in dir(found) if not name.startswith("_")]
        public = [name for name in names if name in getattr(found, "__all__", names)]
        yield f"\nNames: {', '.join(f'`{name}`' for name in public)}."


def _signature(function: FunctionType) -> list[str]:
    """The signature, with types without their modules; a line for each parameter if it is long."""
    described = str(inspect.signature(function))
    text = _NOT_SET.sub(r"\1", _MODULE.sub("", _QUOTED.sub(r"\1\2", described)))
    whole = f"{function.__name__}{text}"
    if len(whole) <= 100:
        return [whole]
    head, _, rest = whole.partition("(")
    inner, _, end = rest.rpartition(")")
    return [f"{head}(", *(f"    {one}," for one in _split(inner)), f"){end}"]


def _split(parameters: str) -> list[str]:
    """Parameters apart, at commas outside brackets."""
    found, depth = [""], 0
    for letter in parameters:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [one.strip() for one in found]


def _flowing(docstring: str) -> Iterator[str]:
    """A docstring as Markdown: sections as lists, examples as indented code."""
    listing = False
    for line in docstring.splitlines():
        if section := _SECTION.match(line):
            listing = True
            yield f"**{section[1]}**\n"
        elif listing and (entry := _ENTRY.match(line)):
            yield f"* `{entry[1]}`: {entry[2]}"
        elif listing and line.startswith("    "):
            yield f"  {line.strip()}"
        else:
            listing = listing and not line
            yield line
