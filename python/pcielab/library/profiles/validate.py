"""Validate a merged system: every file by itself, then the system with its changes.

`system` leaves further checks to the simulator.
"""

from collections.abc import Collection
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from pcielab.library.profiles.files import FILE_MODELS, PARTS, Document, Kind
from pcielab.library.profiles.merge import Layer, Merged
from pcielab.library.profiles.nested import Table
from pcielab.library.profiles.parts import System
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.validation import explain, path_of

_Model = TypeVar("_Model", bound=BaseModel)


def validate(merged: Merged) -> tuple[System, dict[Kind, Provenance]]:
    """A system, and the provenance of each file."""
    documents = {kind: document(kind, layer) for kind, layer in merged.layers.items() if layer.is_file}
    whole = dict(merged.table)
    for kind, model in PARTS.items():
        changed = [key.removeprefix(f"{kind}.") for key in merged.changes if key.startswith(f"{kind}.")]
        whole[kind] = _validated(model, whole[kind], merged.layers[kind].path, f"{kind}.", changed)
    system = _validated(System, whole, merged.layers["system"].path, changed=merged.changes.keys())
    return system, {kind: file.provenance for kind, file in documents.items()}


def document(kind: Kind, file: Layer) -> Document:
    """A whole file by itself."""
    return _validated(FILE_MODELS[kind], file.table, file.path)


def _validated(
    model: type[_Model], content: Table, path: Path, prefix: str = "", changed: Collection[str] = ()
) -> _Model:
    """Content as a model; an error names `--set` if that caused it."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        wrong = {".".join(str(step) for step in path_of(detail)) for detail in error.errors()}
        where = str(path)
        if changed:
            where = "--set" if wrong <= set(changed) else f"{path} with --set"
        raise explain(error, model, where, prefix) from None
