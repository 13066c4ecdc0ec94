"""What other tools measured: the bound of the link's wire on each bandwidth, where the link was given.

A copy from host to device is a read by the device, a copy to the host a write. An RDMA NIC that writes or sends
reads the memory of its host, and one that reads writes it; a drive that is read writes memory. Copies between
devices, sums over devices and buffered reads of files have no bound: they need not cross this link. Values of MPS
and MRRS that are not known are the usual ones, as in `normal`; notes name them.
"""

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from pcielab import model
from pcielab.kinds.explained import MARKED_BELOW, Explained, ExplainedRun, Limit, Unit
from pcielab.kinds.rooms import Explain
from pcielab.kinds.tools.rows import MOVED
from pcielab.library.link import Link
from pcielab.library.usual_link import USUAL_MPS_BYTES, usual_mrrs_bytes
from pcielab.store import Store
from pcielab.store.setup import link_parameters

if TYPE_CHECKING:
    from pcielab.kinds.question import Question

_LONG = 1 << 20
"""Size from which the bound no longer rises, taken for longer and unknown ones."""
_ASKED = ("direction", "beside", "engine", "pair", "part", "size_bytes", "outstanding", "queues", "pattern")
_METRICS: tuple[tuple[str, Unit], ...] = (("bandwidth", "Gb/s"), ("median", "ns"), ("average", "ns"))
_OWN_RATES = {
    "perftest": "the network or the other host",
    "fio": "the drive itself",
}
_NO_LINK = "unknown link, so no bounds: import again with --link, --mps and --mrrs, or with --doctor"


def explain_tools(store: Store, tests: Sequence[int]) -> ExplainedRun:
    """The numbers of another tool among `tests`, each with the bound of its link's wire."""
    known = link_parameters(store.manifest)
    link = link_of_tool(store.manifest)
    rows = [row for record in store.records() if record["id"] in tests and (row := _row(record, link)) is not None]
    source = store.manifest.get("source") or {}
    about = f"{source.get('format') or 'another tool'} {source.get('version') or ''}".strip()
    if link is None:
        return ExplainedRun(rows, f"{about}, unknown link", [_NO_LINK])
    values = {"MPS": ("mps_bytes", link.mps_bytes), "MRRS": ("mrrs_bytes", link.mrrs_bytes)}
    unknown = [name for name, (key, _) in values.items() if known.get(key) is None]
    notes = [f"{name} {values[name][1]} B assumed: import again with --{name.lower()}" for name in unknown]
    parts = [f"{name} {value} B{' assumed' if name in unknown else ''}" for name, (_, value) in values.items()]
    return ExplainedRun(rows, ", ".join([f"{about} on Gen{link.generation} x{link.lanes}", *parts]), notes)


def link_of_tool(manifest: Mapping[str, Any]) -> Link | None:
    """The link that an import was given; None if its generation or width is unknown."""
    known = link_parameters(manifest)
    if known.get("generation") is None or known.get("lanes") is None:
        return None
    more = {key: known[key] for key in ("rcb_bytes", "ecrc") if known.get(key) is not None}
    mps_bytes = known.get("mps_bytes") or USUAL_MPS_BYTES
    return Link(
        generation=known["generation"],
        lanes=known["lanes"],
        mps_bytes=mps_bytes,
        mrrs_bytes=known.get("mrrs_bytes") or usual_mrrs_bytes(mps_bytes),
        **more,
    )


def _row(record: Mapping[str, Any], link: Link | None) -> Explained | None:
    whole = {row["metric"]: float(row["value"]) for row in record["scalars"] if not row["subject"]}
    found = next(((whole[metric], unit) for metric, unit in _METRICS if metric in whole), None)
    if found is None:
        return None
    (value, unit), parameters = found, record["parameters"]
    limits = limits_of_tool(parameters, link) if link is not None and unit != "ns" else ()
    below = bool(limits) and value < MARKED_BELOW * limits[0].value
    own = _OWN_RATES.get(str(parameters.get("tool")))
    return Explained(
        test=int(record["id"]),
        family=record["family"],
        name=record["name"],
        asked={key: parameters.get(key) for key in _ASKED},
        value=value,
        unit=unit,
        limits=limits,
        parts={f"{metric}_ns": whole.get(metric) for metric in ("median", "p99")}
        | {"operations_per_second": whole.get("rate")},
        reasons=(own,) if below and own else (),
    )


def limits_of_tool(parameters: Mapping[str, Any], link: Link) -> tuple[Limit, ...]:
    """The bounds of the wire, tightest first; none if the data need not cross the link."""
    moved = MOVED.get((str(parameters.get("tool")), parameters.get("direction")))
    of_devices = parameters.get("pair") == "sum" or parameters.get("counted") == "total"
    if moved is None or of_devices or parameters.get("access") == "buffered" or parameters.get("state"):
        return ()
    size = parameters.get("size_bytes")
    [answer] = model.bandwidth(link, [_LONG if size is None else min(int(size), _LONG)])
    both = parameters.get("beside") in ("opposite", "others-opposite")
    directions = 2 if parameters.get("counted") == "both" else 1
    ceilings = (answer.rdwr if both else answer.read if moved == "read" else answer.write).ceilings
    return tuple(Limit(one.bound, directions * one.gbps) for one in ceilings)


def _questions(store: Store, tests: Set[int]) -> "list[Question]":
    from pcielab.kinds.tools.questions import tool_questions

    return tool_questions(store, tests)


EXPLAIN = Explain(
    rows=explain_tools, told=("direction", "pair", "size_bytes"), questions=_questions, gives_pins=True
)
