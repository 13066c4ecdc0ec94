"""Take what somebody noticed, in words or as a measured value, and order findings by it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pcielab.doctor.finding import Finding, Loss, Symptom
from pcielab.errors import InputError
from pcielab.wording import named

_WORDS: tuple[tuple[Symptom, str], ...] = (
    (Symptom.ERRORS, r"errors?|aer|rxerr|badtlp|replay|correct(?:able|ed)|uncorrect\w+|malformed|ecrc|poison\w*"),
    (
        Symptom.LOST_RATE,
        r"slow\w*|bandwidth|throughput|rate|speed|half|low|drops?|rx|tx|receive|send|gb/s|gbit\w*",
    ),
    (Symptom.LATENCY, r"latency|late|jitter|tail|stutter\w*|lag\w*|wake\w*|ns|us"),
    (Symptom.PEER_TO_PEER, r"p2p|peer\w*|nccl|gpudirect|all-?reduce|rdma|atomics?|rocm|kfd"),
    (
        Symptom.HANG,
        r"hangs?|hung|freez\w+|frozen|crash\w*|stuck|stops?|reset\w*|time-?outs?|panic|lost|black screen",
    ),
    (
        Symptom.MISSING,
        r"missing|not (?:there|found|detected|seen|enumerated|recogni\w+)|gone|disappear\w*|bar|no space",
    ),
)
WORDS = "errors, slow, latency, p2p, hang, missing, or a measured value such as 3.2 GB/s"
_VALUE = re.compile(r"(?P<number>\d+(?:\.\d+)?) ?(?P<unit>[GMT]i?B/s|[GMT]b(?:it)?/s|[GMT]bps)", re.IGNORECASE)
_FACTORS = {"g": 1.0, "m": 1e-3, "t": 1e3}
_READS = re.compile(r"\b(?:tx|send\w*|read\w*|h2d)\b", re.IGNORECASE)
_WRITES = re.compile(r"\b(?:rx|receive\w*|write\w*|d2h)\b", re.IGNORECASE)
_NEAR = 0.15


@dataclass(frozen=True)
class Complaint:
    """What somebody noticed.

    Attributes:
        symptoms: The symptoms that the words name.
        gbps: A measured rate, Gb/s.
        operation: The direction that the words name: a device that receives writes to memory, and one that sends
        reads.
    """

    symptoms: tuple[Symptom, ...]
    gbps: float | None
    operation: str | None


def complaint(text: str) -> Complaint:
    """The symptom of a text: `RX slow`, `hang`, `3.2 GB/s`.

    Raises:
        InputError: It names none.
    """
    value = _VALUE.search(text)
    gbps = _gbps(value) if value else None
    found = tuple(
        symptom for symptom, words in _WORDS if re.search(rf"(?<!\w)(?:{words})(?!\w)", text, re.IGNORECASE)
    )
    if gbps is not None and Symptom.LOST_RATE not in found:
        found = (*found, Symptom.LOST_RATE)
    if not found:
        raise InputError(f"--symptom {named(text)}: names no symptom: give {WORDS}")
    operation = "read" if _READS.search(text) else "write" if _WRITES.search(text) else None
    return Complaint(found, gbps, operation)


def by_symptom(findings: Sequence[Finding], noticed: Complaint) -> tuple[Finding, ...]:
    """The findings, first those that explain what was noticed; others keep their order."""
    return tuple(sorted(findings, key=lambda finding: -_fit(finding, noticed)))


def _fit(finding: Finding, noticed: Complaint) -> int:
    """How well a finding explains it: the rate it predicts, the symptom, its direction."""
    losses = finding.losses
    fits = bool(set(finding.explains) & set(noticed.symptoms))
    near = noticed.gbps is not None and any(_is_near(loss, noticed.gbps) for loss in losses)
    direction = (
        fits and noticed.operation is not None and any(loss.operation == noticed.operation for loss in losses)
    )
    return 4 * near + 2 * fits + direction


def _is_near(loss: Loss, gbps: float) -> bool:
    return abs(loss.now_gbps - gbps) <= _NEAR * gbps and loss.lost_gbps > 0


def _gbps(value: re.Match[str]) -> float:
    unit = value["unit"]
    factor = _FACTORS[unit[0].lower()] * (8.0 if "B" in unit else 1.0)
    return float(value["number"]) * factor
