"""Questions about a loaded host: what busy cores, an IOMMU and the root complex's pools leave to its devices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from pcielab import _core
from pcielab.library.link_words import read_width
from pcielab.library.profiles import load_system
from pcielab.model.answer_list import Answers
from pcielab.model.answers import HostRates
from pcielab.model.questions import question_json
from pcielab.model.whole_questions import HostQuestion, LoadKind

if TYPE_CHECKING:
    from pcielab.library.profiles import ResolvedSystem

_RATES = TypeAdapter(list[HostRates])
_SIZE_BYTES = 4096


def host(
    system: "str | ResolvedSystem",
    cores: Sequence[int],
    *,
    kind: LoadKind | None = None,
    size_bytes: int = _SIZE_BYTES,
    misses_per_mib: float | None = None,
    devices: Sequence[str] = (),
) -> list[HostRates]:
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

    Returns:
        An answer for each number of cores. Rates are in Gb/s of data, and modelled.

    Raises:
        InputError: The system has no such load, or a value is out of range.
    """
    resolved = load_system(system) if isinstance(system, str) else system
    widths = [read_width(link, "devices") for link in devices]
    question: HostQuestion = {
        "cores": list(cores),
        "kind": kind,
        "size_bytes": size_bytes,
        "misses_per_mib": misses_per_mib,
        "devices": [
            {"generation": width.generation, "lanes": width.lanes, "gbps": None}
            for width in widths
            for _ in range(width.links)
        ],
    }
    return Answers(_RATES.validate_json(_core.model_host(resolved.to_json(), question_json(question))))
