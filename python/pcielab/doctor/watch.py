"""Findings from two readings of one machine, some time apart."""

from pydantic import TypeAdapter

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.finding import Finding
from pcielab.doctor.tree import Tree


@refuses_wrong_types
def changes(before: Tree, after: Tree, seconds: float) -> list[Finding]:
    """Findings about rising errors and retrained links between two readings, `seconds` apart."""
    found = _core.machine_changes(before.model_dump_json(), after.model_dump_json(), seconds)
    return TypeAdapter(list[Finding]).validate_json(found)
