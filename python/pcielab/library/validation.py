"""Turn pydantic's errors into messages that name the file, the key, the value and the remedy.

Tables that Python reads itself share this (`library/profiles/part.py`). A key with the wrong unit (`walk_us`) gets
its right name (`walk_ns`).
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pcielab.errors import InputError, KindOfRefusal, refusal
from pcielab.library.alike import closest, suggestion
from pcielab.library.input_files import read_toml
from pcielab.wording import named, shown

_Model = TypeVar("_Model", bound=BaseModel)
_SHOWN_PROBLEMS = 8
_COMPARED_KEYS = 100


def submodel(annotation: Any) -> type[BaseModel] | None:
    """The model inside an annotation, through `X | None`, `list[X]`, tuples and `Annotated`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, UnionType, Annotated, list, tuple):
        return next((found for part in get_args(annotation) if (found := submodel(part))), None)
    return None


@cache
def known_keys(model: type[BaseModel]) -> list[str]:
    """Every dotted key of a model."""
    keys = []
    for name, field in model.model_fields.items():
        inner = submodel(field.annotation)
        keys += [name, *(f"{name}.{key}" for key in known_keys(inner))] if inner else [name]
    return keys


def model_at(model: type[BaseModel], path: Sequence[str | int]) -> type[BaseModel] | None:
    """The model at a path of keys below `model`; None if the path leaves it."""
    here: type[BaseModel] | None = model
    for step in path:
        if isinstance(step, int):
            continue
        field = here.model_fields.get(step) if here else None
        here = submodel(field.annotation) if field else None
    return here


def read_as(model: type[_Model], path: Path) -> _Model:
    """A TOML file as its model."""
    return checked(model, read_toml(path), str(path))


def checked(model: type[_Model], content: object, where: str) -> _Model:
    """Content as a model.

    Args:
        model: The model.
        content: Plain nested data.
        where: Its source in messages.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise explain(error, model, where) from None


def refuse_wrong(model: type[BaseModel], content: object, where: str) -> None:
    """Refuse wrong values; missing, null and unknown keys pass.

    Args:
        model: The model.
        content: Plain nested data.
        where: Its source in messages.

    Raises:
        InputError: The first wrong value; one line that names key, value and remedy.
    """
    try:
        model.model_validate(content)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=True)
        wrong = [detail for detail in details if not _is_unknown(detail)]
        if wrong:
            raise _first(wrong, model, where) from None


def _first(details: Sequence[ErrorDetails], model: type[BaseModel], where: str) -> InputError:
    wrong = details[0]
    refused = refusal(_kind(wrong), f"{where}: {' '.join(_problem(wrong, model).split())}")
    refused.subject, refused.key = where, _dotted(path_of(wrong))
    refused.value, refused.remedy = _value(wrong), remedy_of(wrong, model)
    return refused


def _is_unknown(detail: ErrorDetails) -> bool:
    path = detail["loc"]
    is_null = detail["input"] is None and bool(path) and isinstance(path[-1], str)
    return is_null or detail["type"] in ("missing", "extra_forbidden", "union_tag_not_found")


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a kind of file, for editors and generators."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}


def explain(error: ValidationError, model: type[BaseModel], where: str) -> InputError:
    """One `InputError` for all of pydantic's errors; `where` names the file."""
    details = error.errors(include_url=False, include_context=True)
    renamed = {suggested for detail in _unknown(details) if (suggested := _meant(detail, model)) is not None}
    details = [one for one in details if not (one["type"] == "missing" and _dotted(one["loc"]) in renamed)]
    if len(details) == 1:
        [detail] = details
        refused = refusal(_kind(detail), f"{where}: {_problem(detail, model)}")
        refused.key, refused.value = _dotted(path_of(detail)), _value(detail)
        refused.remedy = remedy_of(detail, model)
    else:
        listed = [_problem(detail, model) for detail in details[:_SHOWN_PROBLEMS]]
        if len(details) > len(listed):
            listed.append(f"and {len(details) - len(listed)} more")
        problems = "".join(f"\n  {problem}" for problem in listed)
        refused = refusal(_kind(details[0]), f"{where}: {len(details)} problems{problems}")
    refused.subject = where
    return refused


def _kind(detail: ErrorDetails) -> KindOfRefusal:
    """The kind of a refusal for an error of pydantic."""
    kind = detail["type"]
    if kind in _KINDS or kind in _RIGHT_KINDS:
        return _KINDS.get(kind, "wrong-type")
    return "too-large" if kind.startswith("too_long") else "wrong-value"


def path_of(detail: ErrorDetails) -> tuple[str | int, ...]:
    """The path of the wrong key; for a rule across keys, of the key that the rule names."""
    broken = _broken(detail)
    return detail["loc"] if broken is None else (*detail["loc"], *str(broken.key).split("."))


def _broken(detail: ErrorDetails) -> InputError | None:
    """The error of a broken rule across keys, if there is one."""
    error = detail.get("ctx", {}).get("error")
    return error if isinstance(error, InputError) and error.key is not None else None


def _dotted(location: Sequence[str | int]) -> str:
    return ".".join(named(str(step)) for step in location)


def _siblings(detail: ErrorDetails, model: type[BaseModel]) -> list[str]:
    parent = model_at(model, detail["loc"][:-1])
    return [field.alias or name for name, field in parent.model_fields.items()] if parent else []


def _unknown(details: Iterable[ErrorDetails]) -> Iterator[ErrorDetails]:
    """The unknown keys, up to the number that is compared with the known ones."""
    return islice((detail for detail in details if detail["type"] == "extra_forbidden"), _COMPARED_KEYS)


def _meant(detail: ErrorDetails, model: type[BaseModel]) -> str | None:
    """The dotted path of the known key closest to an unknown one."""
    word = str(detail["loc"][-1])
    match = closest(word, _siblings(detail, model))
    return _dotted((*detail["loc"][:-1], match)) if match else None


def _problem(detail: ErrorDetails, model: type[BaseModel]) -> str:
    key = _dotted(path_of(detail))
    if detail["type"] == "extra_forbidden":
        return f"unknown key {key}: {remedy_of(detail, model)}"
    if detail["type"] == "missing":
        return f"missing key {key}{_meaning(detail, model)}"
    if _broken(detail) is None and detail["type"] == "value_error":  # the message names its keys
        return ": ".join(part for part in (key.rstrip("."), remedy_of(detail, model)) if part)
    meaning = "" if _broken(detail) is not None else _meaning(detail, model)
    return f"{key} is {_value(detail)}: {remedy_of(detail, model)}{meaning}"


def _value(detail: ErrorDetails) -> str | None:
    broken = _broken(detail)
    if broken is not None:
        return broken.value
    return None if detail["type"] == "missing" else shown(detail["input"])


_KINDS: dict[str, KindOfRefusal] = {
    "extra_forbidden": "unknown-key",
    "greater_than": "out-of-range",
    "greater_than_equal": "out-of-range",
    "less_than": "out-of-range",
    "less_than_equal": "out-of-range",
    "missing": "missing",
}
"""Kinds of refusals by pydantic's name of the error; those of wrong types are in `_RIGHT_KINDS`."""
_RIGHT_KINDS = {
    "bool_type": "true or false",
    "finite_number": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "a table",
    "model_type": "a table",
    "string_type": "text",
}
"""The right kind of value, by pydantic's name of the error."""


def remedy_of(detail: ErrorDetails, model: type[BaseModel]) -> str:
    """The remedy for an error of pydantic: `give 1 to 255`."""
    broken = _broken(detail)
    if broken is not None:
        return broken.remedy or ""
    if detail["type"] == "extra_forbidden":
        return suggestion(str(detail["loc"][-1]), _siblings(detail, model))
    if detail["type"] == "missing":
        return "give it"
    if detail["type"] == "literal_error":
        return f"give {detail['ctx']['expected']}".replace("'", '"')
    if detail["type"] in _RIGHT_KINDS:
        return f"give {_RIGHT_KINDS[detail['type']]}"
    message = detail["msg"].removeprefix("Value error, ")
    return message if detail["type"] == "value_error" else f"{message[:1].lower()}{message[1:]}"


def _meaning(detail: ErrorDetails, model: type[BaseModel]) -> str:
    keys = [step for step in detail["loc"] if isinstance(step, str)]
    parent = model_at(model, keys[:-1]) if keys else None
    field = parent.model_fields.get(keys[-1]) if parent else None
    if field is None or not field.description:
        return ""
    return f" ({' '.join(field.description.split()).rstrip('.').replace('`', '')})"
