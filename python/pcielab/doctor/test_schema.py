"""The doctor's JSON conforms to its schema."""

import json
from pathlib import Path

import jsonschema
import pytest

from made_machine import server, write
from pcielab.doctor import examine, read_sysfs
from pcielab.doctor.examine import Examination, branches
from pcielab.doctor.test_rules import BROKEN, Broken

SCHEMA = Examination.model_json_schema(mode="serialization")


def validated(written: str) -> None:
    jsonschema.validate(json.loads(written), SCHEMA)


@pytest.mark.parametrize("broken", BROKEN[::4], ids=lambda broken: broken.name)
def test_json_conforms_to_its_schema(broken: Broken, tmp_path: Path) -> None:
    tree = read_sysfs(write(tmp_path / "machine", broken.functions(), broken.files))
    validated(examine(tree).model_copy(update={"tree": tuple(branches(tree))}).model_dump_json())


def test_schema_refuses_an_incomplete_finding(tmp_path: Path) -> None:
    examined = json.loads(examine(read_sysfs(write(tmp_path / "machine", server()))).model_dump_json())
    with pytest.raises(jsonschema.ValidationError):
        validated(json.dumps(examined | {"findings": [{"rule": "below-both-ends"}]}))
