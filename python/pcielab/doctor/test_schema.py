"""What programs are told of the doctor's output is what it writes."""

import json
from pathlib import Path

import jsonschema
import pytest

from pcielab.doctor import examine, read_sysfs
from pcielab.doctor.branches import branches
from pcielab.doctor.examine import Examination
from pcielab.doctor.made_machine import server, write
from pcielab.doctor.test_rules import BROKEN, Broken

SCHEMA = Examination.model_json_schema(mode="serialization")


def validated(written: str) -> None:
    jsonschema.validate(json.loads(written), SCHEMA)


@pytest.mark.parametrize("broken", BROKEN[::4], ids=lambda broken: broken.name)
def test_the_json_is_as_its_schema_says(broken: Broken, tmp_path: Path) -> None:
    tree = read_sysfs(write(tmp_path / "machine", broken.functions(), broken.files))
    validated(examine(tree).model_copy(update={"tree": tuple(branches(tree))}).model_dump_json())


def test_a_schema_that_refuses_nothing_would_not_hold(tmp_path: Path) -> None:
    examined = json.loads(examine(read_sysfs(write(tmp_path / "machine", server()))).model_dump_json())
    with pytest.raises(jsonschema.ValidationError):
        validated(json.dumps(examined | {"findings": [{"rule": "below-both-ends"}]}))
