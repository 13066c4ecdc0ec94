"""A capture explained: sentences, settings, time by cause, latencies, broken rules, other cuts.

`crates/pcie-transactions` computes all of it; this module names the parts.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcielab import _core
from pcielab.captures.reading import Progress, Reading


@dataclass(frozen=True)
class Share:
    """Time of one direction of the link on one cause.

    Attributes:
        direction: `upstream`, towards the root complex, or `downstream`.
        cause: `payload`, `headers`, `tags`, `device gaps` and others.
        ns: How long.
        share: The same as a share of the capture; those of a direction add up to 1.
    """

    direction: str
    cause: str
    ns: float
    share: float


@dataclass(frozen=True)
class Cut:
    """The same accesses with other cuts, by the closed form.

    Attributes:
        cuts: `as captured`, or the sizes.
        mps_bytes: Maximum payload size.
        mrrs_bytes: Maximum read request size.
        read_requests: Read requests of the device.
        write_tlps: Write TLPs of the device.
        upstream_bytes: Bytes of TLPs towards the root complex.
        downstream_bytes: Bytes of TLPs from it.
        link_gbps: What the link alone allows; None without times.
        bound_gbps: The same with the tags and the average latency of the capture.
        bound: The bound that binds then.
    """

    cuts: str
    mps_bytes: int
    mrrs_bytes: int
    read_requests: float
    write_tlps: float
    upstream_bytes: float
    downstream_bytes: float
    link_gbps: float | None
    bound_gbps: float | None
    bound: str | None


@dataclass(frozen=True)
class Violation:
    """A broken rule.

    Attributes:
        rule: `4-kib`, `mps`, `tag-reuse` and others.
        record: Record of the packet in the file.
        detail: What is wrong.
    """

    rule: str
    record: int
    detail: str


@dataclass(frozen=True)
class Explanation:
    """What a capture shows.

    Attributes:
        sentences: What was moved at what share of the bound; what bound it; what to change.
        report: Everything as plain values, as `pcielab tlp explain --format json` prints it.
    """

    sentences: tuple[str, ...]
    report: dict[str, Any]

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the reading."""
        return bool(self.report["interrupted"])

    @property
    def link(self) -> str | None:
        """The link, as `gen3x8`; of several with the same rate the oldest. None without times."""
        link = self.report["link"]
        return None if link["generation"] is None else f"gen{link['generation']}x{link['lanes']}"

    @property
    def gbps(self) -> float | None:
        """All data over the time of the capture."""
        return self._number("gbps")

    @property
    def efficiency(self) -> float | None:
        """The rate over what the link allows for the same accesses, cut as large as MPS and MRRS."""
        return self._number("efficiency")

    @property
    def binding(self) -> str | None:
        """What bound the capture: `wire`, or a cause of `shares`; None without times."""
        found = self.report["binding"]
        return None if found is None else str(found["cause"])

    @property
    def shares(self) -> list[Share]:
        """Time by direction and cause."""
        return [Share(**row) for row in self.report["shares"]]

    @property
    def cuts(self) -> list[Cut]:
        """The accesses as captured, and with other cuts."""
        return [Cut(**row) for row in self.report["cuts"]]

    @property
    def violations(self) -> list[Violation]:
        """Broken rules: the first of each."""
        return [Violation(**row) for row in self.report["violations"]]

    def _number(self, key: str) -> float | None:
        value = self.report[key]
        return None if value is None else float(value)


def explain(
    path: Path | str,
    *,
    reading: Reading | None = None,
    generation: int | None = None,
    lanes: int | None = None,
    flits: bool | None = None,
    mps_bytes: int | None = None,
    mrrs_bytes: int | None = None,
    rcb_bytes: int | None = None,
    progress: Progress | None = None,
) -> Explanation:
    """Explain a capture.

    Args:
        path: The file, also compressed by gzip.
        reading: How to read it.
        generation: Generation of the link, 1 to 7; None: as the file or the pace of its packets shows.
        lanes: Its width.
        flits: Whether it runs in flit mode.
        mps_bytes: Maximum payload size: packets with more are violations.
        mrrs_bytes: Maximum read request size: reads of more are violations.
        rcb_bytes: Read completion boundary: completions that end elsewhere are violations.
        progress: Called with the bytes that are read, and their total.

    Returns:
        What the capture shows; after Ctrl-C, of the part that was read.

    Raises:
        InputError: The file is damaged, in no known format, or has no TLP; or no link has these options.
    """
    stated = {
        "generation": generation,
        "lanes": lanes,
        "flits": flits,
        "mps_bytes": mps_bytes,
        "mrrs_bytes": mrrs_bytes,
        "rcb_bytes": rcb_bytes,
    }
    text = _core.capture_explain(Path(path), (reading or Reading()).to_json(), json.dumps(stated), progress)
    report = json.loads(text)
    return Explanation(tuple(report["sentences"]), report)
