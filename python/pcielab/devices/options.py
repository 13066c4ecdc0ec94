"""What each kind of device can be told, from its model: as rows for people, as a schema for editors."""

from collections.abc import Iterator

from pydantic import BaseModel

from pcielab.library.validation import submodel


def option_rows(model: type[BaseModel], prefix: str = "") -> Iterator[dict[str, str | int | float | bool | None]]:
    """Dotted key, default and meaning of every option."""
    for name, field in model.model_fields.items():
        inner = submodel(field.annotation)
        if inner is not None:
            yield from option_rows(inner, f"{prefix}{name}.")
        else:
            default = "" if field.is_required() else str(field.default)
            yield {"key": prefix + name, "default": default, "meaning": field.description or ""}
