"""Read what a kernel's log says about PCIe: errors, links that go down, BARs without addresses, lost devices.

The lines may stand anywhere in a text, with or without their times. Lines that say the same of one function are
counted as one event. I/O ports that find no space are left out: nearly every machine has some, and nothing needs
them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pcielab.doctor.tree import LogEvent, LogKind
from pcielab.wording import printable

_MOST_EVENTS = 256
_MOST_LETTERS = 300
_DEVICE = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}"
_SLOT = re.compile(rf"\b(?:PCI:)?(?P<slot>{_DEVICE}(?:\.[0-7](?!\w)|(?!\w|:|\.\w)))", re.IGNORECASE)
"""A slot, or a device without the number of a function; a colon may follow a slot, as after a driver's name."""
_REPORTED = re.compile(
    r"(?:received: |from |source:|device \[?|device=)(?P<slot>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"^.{0,80}?\[ {0,6}\d{1,9}\.\d{3,9}\](?:\[[^\]]{1,12}\])? |^\w{3} +\d{1,2} [\d:]{8} \S+ kernel: "
)
_BAR = re.compile(r"\b(?P<bar>BAR \d{1,2}|bridge window)\b")
_SAID: dict[LogKind, str] = {
    "off-bus": r"fallen off the bus|inaccessible\)|device inaccessible|CSTS=0xffffffff|PCI_STATUS=0xffff|"
                    r"not ready \d+ms after [^;]*; giving up|Xid \([^)]*\): 79\b",
    "contained": r"DPC: containment event|DPC: unmasked uncorrectable error",
    "uncorrected-error": r"AER: (?:Multiple )?Uncorrect(?:ed|able)|severity=Uncorrect(?:ed|able)",
    "corrected-error": r"AER: (?:Multiple )?Correct(?:ed|able) error|severity=Correct(?:ed|able)",
    "link-down": r"pciehp: Slot\([^)]*\): Link Down",
    "retrain-failed": r"retraining non-functional downstream link|retraining failed|"
                           r"removing 2\.5GT/s downstream link speed restriction",
    "bandwidth-limited": r"available PCIe bandwidth, limited by",
    "no-space": r"(?:BAR \d{1,2}|bridge window)\b(?!.*\[io).*(?:no space|failed to assign|can't claim)|"
                     r"Not enough PCI address space",
    "no-atomics": r"PCIE? atomic ops? (?:is|are) not supported|PCI rejects atomics",
    "device-stopped": r"nvme\d*: controller is down; will reset|NETDEV WATCHDOG: .*timed out|"
                           r"nvme\d*: I/O (?:tag )?\d+ .*timeout|Fatal error during GPU init|GPU reset begin",
    "address-fault": r"IO_PAGE_FAULT|DMAR: \[DMA (?:Read|Write)",
}  # fmt: skip
_PATTERNS = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _SAID.items()}
_HINT = re.compile(
    r"bus|DPC|AER|severity=|pciehp|retrain|downstream link|available PCIe|BAR \d|bridge window|address "
    r"space|atomic|"
    r"controller is down|GPU init|GPU reset|WATCHDOG|timeout|FAULT|DMAR|inaccessible|giving up|Xid|0xffff",
    re.IGNORECASE,
)


def log_events(text: str) -> tuple[LogEvent, ...]:
    """The events of a text, in its order; those that a later line takes back are left out."""
    found = _Events()
    for number, line in enumerate(text.split("\n"), start=1):
        if _HINT.search(line):
            found.take(number, line[:_MOST_LETTERS])
    return found.kept()


def is_kernel_log(text: str) -> bool:
    """Whether a text has lines with the times of a kernel's log."""
    return sum(1 for _ in _times(text)) >= 2


def _times(text: str) -> Iterator[re.Match[str]]:
    return (found for line in text.split("\n") if (found := _TIME.match(line.lstrip("> "))))


@dataclass
class _Events:
    """Events by kind, function and BAR."""

    found: dict[tuple[LogKind, str | None, str | None], LogEvent] = field(default_factory=dict)

    def take(self, number: int, line: str) -> None:
        said = printable(_TIME.sub("", line.lstrip("> \t")).strip())
        kind = next((kind for kind, pattern in _PATTERNS.items() if pattern.search(line)), None)
        bar = _BAR.search(line)
        slot = _slot(line)
        if kind is None:
            if bar is not None and said.endswith(": assigned"):
                self.found.pop(("no-space", slot, bar["bar"]), None)
            return
        # A later line may say that the BAR got its space after all; not so if the kernel could not claim what was
        # set.
        retried = bar is not None and kind == "no-space" and "can't claim" not in line
        key = (kind, slot, bar["bar"] if bar and retried else None)
        known = self.found.get(key)
        if known is not None:
            self.found[key] = known.model_copy(update={"count": known.count + 1})
        elif len(self.found) < _MOST_EVENTS:
            self.found[key] = LogEvent(kind=kind, slot=slot, text=said, line=number)

    def kept(self) -> tuple[LogEvent, ...]:
        return tuple(sorted(self.found.values(), key=lambda event: event.line))


def _slot(line: str) -> str | None:
    found = _REPORTED.search(line) or _SLOT.search(line)
    if found is None:
        return None
    slot = found["slot"].lower()
    slot = slot if slot.count(":") == 2 else f"0000:{slot}"
    domain, _, rest = slot.partition(":")
    # NVIDIA's driver writes a domain of eight digits, and no function.
    domain = domain[-4:] if len(domain) == 8 and domain.startswith("0000") else domain
    return f"{domain}:{rest}" if "." in rest else f"{domain}:{rest}.0"
