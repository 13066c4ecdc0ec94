"""The dotted keys of a system with their meanings, read from the source of its model without loading it.

Loading the model takes longer than a person waits for Tab.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

_SOURCE = Path(__file__).parent / "profiles" / "parts.py"


def system_keys() -> dict[str, str]:
    """Every dotted key of a system that `--set` takes, with the first sentence of its meaning."""
    parsed = ast.parse(_SOURCE.read_text(encoding="utf-8")).body
    return dict(_keys("System", {node.name: node for node in parsed if isinstance(node, ast.ClassDef)}))


def _keys(name: str, classes: dict[str, ast.ClassDef]) -> Iterator[tuple[str, str]]:
    for base in classes[name].bases:
        if isinstance(base, ast.Name) and base.id in classes:
            yield from _keys(base.id, classes)
    body = classes[name].body
    for field, after in zip(body, [*body[1:], None], strict=True):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)) or _is_of_class(field):
            continue
        key = field.target.id
        yield key, _meaning(after)
        names = (one.id for one in ast.walk(field.annotation) if isinstance(one, ast.Name))
        inner = next((one for one in names if one in classes), None)
        if inner is not None:
            yield from ((f"{key}.{below}", meaning) for below, meaning in _keys(inner, classes))


def _is_of_class(field: ast.AnnAssign) -> bool:
    return any(getattr(one, "id", None) == "ClassVar" for one in ast.walk(field.annotation))


def _meaning(after: ast.stmt | None) -> str:
    match after:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return " ".join(text.split()).partition(". ")[0].rstrip(".")
    return ""
