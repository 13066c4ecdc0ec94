"""The JSON Schemas of files, for editors; the site publishes them."""

import json

from pcielab.library.editor_schemas import KINDS, editor_schema


def schemas() -> dict[str, str]:
    """The text of each schema by its path."""
    return {f"docs/schemas/{kind}.json": json.dumps(editor_schema(kind), indent=1) + "\n" for kind in KINDS}
