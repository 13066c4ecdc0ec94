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
from pcielab.kinds.tools.lines import line_bound_gbps, link_of_tool
from pcielab.kinds.tools.rows import MOVED
from pcielab.library.link import Link
from pcielab.store import Store
from pcielab.store.setup import link_parameters

if TYPE_CHECKING:
    from pcielab.kinds.line import Line
    from pcielab.kinds.question import Question

_LONG = 1 << 20
"""Size from which the bound no longer rises, taken for longer and unknown ones."""
_ASKED = ("direction", "beside", "engine", "pair", "part", "size_bytes", "outstanding", "queues", "pattern")
_METRICS: tuple[tuple[str, Unit], ...] = (("bandwidth", "Gb/s"), ("median", "ns"), ("average", "ns"))
_OWN_RATES = {
    "perftest": "the network or the other host",
    "fio": "the drive itself",
}
_NEAR_GPU = (
    "the way between the NIC and the GPU whose memory it uses (pcielab expect MACHINE --ask 'p2p-write nic0>gpu0')"
)
_NO_LINK = "unknown link, so no bounds: import again with --link, --mps and --mrrs, or with --doctor"


def explain_tools(store: Store, tests: Sequence[int], line: "Line | None" = None) -> ExplainedRun:
    """The numbers of another tool among `tests`, each with the bounds of its link's wire and of a NIC's line.

    Args:
        store: The imported run.
        tests: Numbers of tests.
        line: What is known of the NIC's line beside the tool's output.
    """
    known = link_parameters(store.manifest)
    link = link_of_tool(store.manifest)
    rows = [
        row
        for record in store.records()
        if record["id"] in tests and (row := _row(record, link, line)) is not None
    ]
    source = store.manifest.get("source") or {}
    about = f"{source.get('format') or 'another tool'} {source.get('version') or ''}".strip()
    if link is None:
        return ExplainedRun(rows, f"{about}, unknown link", [_NO_LINK])
    values = {"MPS": ("mps_bytes", link.mps_bytes), "MRRS": ("mrrs_bytes", link.mrrs_bytes)}
    unknown = [name for name, (key, _) in values.items() if known.get(key) is None]
    notes = [f"{name} {values[name][1]} B assumed: import again with --{name.lower()}" for name in unknown]
    parts = [f"{name} {value} B{' assumed' if name in unknown else ''}" for name, (_, value) in values.items()]
    return ExplainedRun(rows, ", ".join([f"{about} on Gen{link.generation} x{link.lanes}", *parts]), notes)


def _row(record: Mapping[str, Any], link: Link | None, line: "Line | None") -> Explained | None:
    whole = {row["metric"]: float(row["value"]) for row in record["scalars"] if not row["subject"]}
    found = next(((whole[metric], unit) for metric, unit in _METRICS if metric in whole), None)
    if found is None:
        return None
    (value, unit), parameters = found, record["parameters"]
    limits = limits_of_tool(parameters, link, line) if unit != "ns" else ()
    below = bool(limits) and value < MARKED_BELOW * limits[0].value
    own = _NEAR_GPU if parameters.get("memory") == "gpu" else _OWN_RATES.get(str(parameters.get("tool")))
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


def limits_of_tool(
    parameters: Mapping[str, Any], link: Link | None, line: "Line | None" = None
) -> tuple[Limit, ...]:
    """The bounds of wire and line, tightest first; none if the data need not cross the link."""
    found = [*_wire(parameters, link)] if link is not None else []
    if parameters.get("tool") == "perftest":
        rate = line_bound_gbps(parameters, line)
        found += [Limit("line", rate)] if rate is not None else []
    return tuple(sorted(found, key=lambda limit: limit.value))


def _wire(parameters: Mapping[str, Any], link: Link) -> tuple[Limit, ...]:
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
