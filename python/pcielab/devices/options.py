"""What each kind of device can be told, from its model: as rows for people, as a schema for editors."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel

from pcielab.devices import rtl
from pcielab.devices.registry import OF_SYSTEMS, kinds
from pcielab.library.profiles.parts import System
from pcielab.library.validation import submodel

_TITLES = {"sim": "The simulator, on a system: pcielab run --profile SYSTEM", "rtl": rtl.TITLE}


@dataclass(frozen=True)
class Options:
    """What a kind of device can be told: one line for people, and the model of it."""

    title: str
    model: type[BaseModel]


def kinds_with_options() -> list[str]:
    """Every kind of device."""
    return [*OF_SYSTEMS, *kinds()]


def options_of(kind: str) -> Options | None:
    """What a kind of device can be told; None where there is no such kind."""
    if kind in OF_SYSTEMS:
        return Options(_TITLES[kind], System)
    found = kinds().get(kind)
    return Options(found.title, found.options) if found else None


def option_rows(model: type[BaseModel], prefix: str = "") -> Iterator[dict[str, str | int | float | bool | None]]:
    """Dotted key, default and meaning of every option."""
    for name, field in model.model_fields.items():
        inner = submodel(field.annotation)
        if inner is not None:
            yield from option_rows(inner, f"{prefix}{name}.")
        else:
            default = "" if field.is_required() else str(field.default)
            yield {"key": prefix + name, "default": default, "meaning": field.description or ""}
