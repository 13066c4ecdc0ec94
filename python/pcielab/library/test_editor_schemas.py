"""Editors accept the shipped files, and mark what is wrong."""

import tomllib
from pathlib import Path

import jsonschema
import pytest

from pcielab.library import shipped
from pcielab.library.editor_schemas import KINDS, FileKind, editor_schema, schema_line


def shipped_files(kind: FileKind) -> list[Path]:
    if kind == "suite":
        return list(shipped.suite_files("transfers").values())
    if kind == "message-suite":
        return list(shipped.suite_files("messages").values())
    if kind == "fabric-suite":
        return list(shipped.suite_files("fabric").values())
    if kind == "fabric-device":
        return list(shipped.fabric_device_files().values())
    return list(shipped.profile_files(kind).values())


@pytest.mark.parametrize("kind", KINDS)
def test_shipped_files_name_their_schema_and_fit_it(kind: FileKind) -> None:
    schema = jsonschema.Draft202012Validator(editor_schema(kind))
    paths = shipped_files(kind)
    assert paths
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f"{schema_line(kind)}\n"), path
        problems = [f"{list(error.path)}: {error.message}" for error in schema.iter_errors(tomllib.loads(text))]
        assert problems == [], path


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_key_is_marked_in_every_kind_of_file(kind: FileKind) -> None:
    schema = jsonschema.Draft202012Validator(editor_schema(kind))
    content = tomllib.loads(shipped_files(kind)[0].read_text(encoding="utf-8"))
    messages = [error.message for error in schema.iter_errors({**content, "unknown_key": 1})]
    assert any("unknown_key" in message for message in messages)


def test_a_wrong_key_a_wrong_value_and_a_missing_key_are_marked() -> None:
    schema = jsonschema.Draft202012Validator(editor_schema("link"))

    def marked(text: str) -> list[str]:
        return [error.message for error in schema.iter_errors(tomllib.loads(text))]

    whole = 'name = "a"\ntitle = "A"\ngeneration = 3\nlanes = 8\nmps_bytes = 256\nmrrs_bytes = 512\ntags = 64\n'
    whole += '[provenance]\nsource = "me"\n'
    assert marked(whole) == []
    assert "'lanes' is a required property" in marked(whole.replace("lanes = 8\n", ""))
    assert any("'lane'" in message for message in marked(whole.replace("lanes", "lane")))
    assert any("9 is not one of" in message for message in marked(whole.replace("lanes = 8", "lanes = 9")))
    based = 'name = "a"\ntitle = "A"\nbase = "gen3-x8"\nlanes = 4\n'
    assert not any("mps_bytes" in message for message in marked(based))
