"""Questions about a loaded host: what busy cores, an IOMMU and the root complex's pools leave to its devices.

pydantic makes the objects of answers, as in `model/questions.py`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from pcielab import _core
from pcielab._core import Width, read_width
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import out_of_range
from pcielab.library.profiles import load_system
from pcielab.library.profiles.system import LOADED_CORES
from pcielab.model.answer_list import Answers
from pcielab.model.answers import HostRates
from pcielab.model.questions import question_json
from pcielab.model.whole_questions import HostQuestion, LoadKind

if TYPE_CHECKING:
    from pcielab.library.profiles import ResolvedSystem


class LoadedHost(HostRates):
    """What a loaded host gives to its devices, and whether measurements cover its number of cores."""

    extrapolated: bool = False
    """Whether the number of cores lies outside the measured range that the host's profile names."""


_RATES = TypeAdapter(list[LoadedHost])
_SIZE_BYTES = 4096
_OFFERED_MOST_GBPS = 1_000_000
"""Hundreds of times what the widest link gives."""


@refuses_wrong_types
def host(
    system: "str | ResolvedSystem",
    cores: Sequence[int],
    *,
    kind: LoadKind | None = None,
    size_bytes: int = _SIZE_BYTES,
    misses_per_mib: float | None = None,
    devices: Sequence[str] = (),
    offered_gbps: float | None = None,
) -> Answers[LoadedHost]:
    """What a host leaves to its devices beside each number of busy cores.

        >>> from pcielab import model
        >>> model.host("clx-6234", [6])[0].devices[0].write.bound
        'memory'

    Args:
        system: A system, by name, file or loaded.
        cores: Numbers of busy cores.
        kind: What they do: only read, or read and write. By default what the system says.
        size_bytes: Bytes of a transfer.
        misses_per_mib: IO-TLB misses for each MiB of data. By default one for each page that the driver gives
            anew (`host.iommu.page_life`).
        devices: Links of several devices below the root complex: `["gen4x16", "4x gen4x4"]`. By default the
            system's one device.
        offered_gbps: What each device asks for in each direction, Gb/s of data. By default all that its link
            gives, so that pools fill and latencies are those of saturation.

    Returns:
        An answer for each number of cores. Rates are in Gb/s of data, and modelled. `extrapolated` marks numbers
        of cores that nobody measured; `notes` of the list then says so.

    Raises:
        InputError: The system has no such load, or a value is out of range.
    """
    resolved = load_system(system) if isinstance(system, str) else system
    widths = [read_width(link, "devices") for link in devices]
    if offered_gbps is not None:
        if not 0 < offered_gbps <= _OFFERED_MOST_GBPS:
            raise out_of_range("offered_gbps", offered_gbps, f"above 0, at most {_OFFERED_MOST_GBPS} Gb/s")
        widths = widths or [Width(resolved.link.generation, resolved.link.lanes)]
    question: HostQuestion = {
        "cores": list(cores),
        "kind": kind,
        "size_bytes": size_bytes,
        "misses_per_mib": misses_per_mib,
        "devices": [
            {"generation": width.generation, "lanes": width.lanes, "gbps": offered_gbps}
            for width in widths
            for _ in range(width.links)
        ],
    }
    answers = _RATES.validate_json(_core.model_host(resolved.handle, question_json(question)))
    beyond = {answer.cores: resolved.beyond_fitted(LOADED_CORES, answer.cores) for answer in answers}
    marked = [answer.model_copy(update={"extrapolated": bool(beyond[answer.cores])}) for answer in answers]
    return Answers(marked, dict.fromkeys(filter(None, beyond.values())))
