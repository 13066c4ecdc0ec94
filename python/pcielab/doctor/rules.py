"""The rules of the doctor, which `crates/pcie-doctor` applies to a machine."""

from pydantic import TypeAdapter

from pcielab._core import doctor_rules
from pcielab.doctor.finding import Symptom
from pcielab.doctor.tree import Record


class Rule(Record):
    """A rule, which looks for one cause of low numbers."""

    name: str
    """Name in findings."""
    cause: str
    """Key of the cause."""
    about: str
    """The reason, the section of the specification, and when the rule is silent."""
    explains: tuple[Symptom, ...]
    """Symptoms that the cause explains."""
    confirm: str | None
    """What would confirm the cause."""


RULES: tuple[Rule, ...] = TypeAdapter(tuple[Rule, ...]).validate_json(doctor_rules())
"""Every rule, in the order of the reference; findings are sorted by cost."""
