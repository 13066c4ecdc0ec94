"""A system as a notebook shows it: its title, and every value with its meaning and where it comes from."""

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from pcielab.library.profiles.keys import Key, keys_of, text_of

if TYPE_CHECKING:
    from pcielab.library.profiles.resolve import ResolvedSystem


def html_of(system: "ResolvedSystem") -> str:
    """The system as HTML: a table for each part, folded away but for what was changed."""
    changes = "".join(
        f"<li><code>{escape(key)} = {escape(str(value))}</code></li>" for key, value in system.overrides.items()
    )
    parts = "".join(
        f"<details><summary>{escape(part or 'placement')}</summary>{_table(list(keys))}</details>"
        for part, keys in groupby(keys_of(system), key=lambda key: key.group)
    )
    changed = f"<ul>{changes}</ul>" if changes else ""
    return f"<div><strong>{escape(system.title)}</strong>{changed}{parts}</div>"


def _table(keys: list[Key]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(one.key)}</code></td><td>{escape(text_of(one.value))} {escape(one.unit)}</td>"
        f"<td>{escape(one.meaning)}</td><td>{escape(one.source)}</td></tr>"
        for one in keys
    )
    return f"<table><tr><th>key</th><th>value</th><th>meaning</th><th>source</th></tr>{rows}</table>"
