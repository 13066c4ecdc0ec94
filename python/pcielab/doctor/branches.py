"""The tree for people and programs: every link with its capacity and the demand below it."""

from pydantic import TypeAdapter

from pcielab import _core
from pcielab.doctor.tree import Record, Tree
from pcielab.model.answers import Bound


class Branch(Record):
    """A function, with the link above it if it has one."""

    slot: str
    depth: int
    """Number of bridges above it."""
    title: str
    kind: str | None
    speed_gtps: float | None = None
    lanes: int | None = None
    """Negotiated lanes; 0 where nothing is attached."""
    read_gbps: float | None = None
    """Large reads, modelled: the wire with this device's MPS and MRRS."""
    read_bound: Bound | None = None
    write_gbps: float | None = None
    write_bound: Bound | None = None
    raw_gbps: float | None = None
    """Raw bit rate of the link in one direction, after line coding."""
    below_gbps: float | None = None
    """Sum of the raw rates of the device links below it."""
    edge: str | None = None
    """The link above by the name that `pcielab fabric from` gives it."""
    made_up: str | None = None
    """Why the link is not judged: inside a chip, or not a real one."""


def branches(tree: Tree) -> list[Branch]:
    """Every function, in depth-first order."""
    return TypeAdapter(list[Branch]).validate_json(_core.machine_branches(tree.model_dump_json()))
