"""Compare what tools measured with what the machine should give: the gate of a health check.

Outputs of nvbandwidth, p2pBandwidthLatencyTest, bandwidthTest, rocm-bandwidth-test, nccl-tests, perftest and fio
are read as `pcielab import` reads them. GPU 0 of a tool is the first GPU of the machine: programs number GPUs by
their bus if CUDA_DEVICE_ORDER is PCI_BUS_ID.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pcielab.errors import InputError, refusal
from pcielab.expectations.answers import Answer, answer
from pcielab.expectations.machine import Machine
from pcielab.expectations.questions import read_question
from pcielab.expectations.tables import shipped_ranges
from pcielab.formats.importers.tools.output import read_output
from pcielab.formats.importers.tools.reading import read_text
from pcielab.formats.importers.tools.writing import Measurement
from pcielab.kinds.line import line_of_parameters
from pcielab.kinds.tools.rows import COPIERS, MeasuredSetting

Outcome: TypeAlias = Literal["ok", "low", "above", "unknown"]
_GBPS_OF_GBYTES = 8.0
_ROUNDED = 1.005
"""A printed value may exceed a full line by its rounding."""
_LARGE_BYTES = 1 << 20
_LARGE_BLOCK_BYTES = 1 << 16
_GPU = re.compile(r"GPU (\d{1,3})", re.ASCII)


@dataclass(frozen=True)
class Check:
    """A measured value beside what the machine should give.

    Attributes:
        question: The question that it answers.
        tool: What measured it.
        test: The tool's name of the test.
        measured: GB/s: the highest of all sizes.
        given: The answer; None: the machine lacks a fact that the question needs.
        missing: That fact.
    """

    question: str
    tool: str
    test: str
    measured: float
    given: Answer | None
    missing: str

    @property
    def outcome(self) -> Outcome:
        """`low` below the range, `above` it, `unknown` where nobody published a comparable figure."""
        given = self.given
        if given is None or given.lower is None or given.upper is None:
            return "unknown"
        if self.measured < given.lower:
            return "low"
        return "above" if self.measured > _ROUNDED * given.upper else "ok"


@dataclass(frozen=True)
class CheckedOutput:
    """What a text was checked for.

    Attributes:
        checks: One for each question that it answers.
        notes: What of it answers no question.
    """

    checks: tuple[Check, ...]
    notes: tuple[str, ...]

    @property
    def is_low(self) -> bool:
        """Whether a value is below its range."""
        return any(check.outcome == "low" for check in self.checks)


def checked_output(machine: Machine, file: str | Path) -> CheckedOutput:
    """What tools measured on a machine, each value beside its expectation.

    Args:
        machine: The machine.
        file: A text with the output of one tool or several.

    Raises:
        InputError: No tool's output is in it, or nothing of it answers a question about the machine.
    """
    file = Path(file)
    best: dict[str, tuple[float, str, str]] = {}
    skipped: dict[str, None] = {}
    for measured in read_output(read_text(file), file):
        for test in measured.tests:
            bandwidth = test.metrics.get("bandwidth")
            if bandwidth is None or test.status != "ok":
                continue
            question = _question(test, machine)
            if question is None:
                skipped[f"{measured.tool} {test.name}"] = None
                continue
            value = float(bandwidth) / _GBPS_OF_GBYTES
            if question not in best or value > best[question][0]:
                best[question] = (value, measured.tool, test.name)
    if not best:
        raise refusal(
            "unsupported",
            f"{file}: nothing in it answers a question about {machine.name}: give copies of GPUs by copy engines, "
            "rings, RDMA of the machine's NICs or large blocks of its drives",
        )
    checks = tuple(_check(machine, question, *found) for question, found in best.items())
    return CheckedOutput(checks, tuple(f"not checked: {name}" for name in skipped))


def _check(machine: Machine, question: str, value: float, tool: str, test: str) -> Check:
    try:
        given = answer(machine, read_question(question, machine), shipped_ranges())
    except InputError as error:
        return Check(question, tool, test, value, None, str(error))
    return Check(question, tool, test, value, given, given.unknown[0] if given.unknown else "")


def _question(test: Measurement, machine: Machine) -> str | None:
    """The question that a test answers; None if it answers none."""
    setting = test.setting
    if setting.tool in COPIERS:
        return next(_of_copies(test, machine), None)
    if setting.tool == "nccl-tests":
        return _of_rings(test, machine)
    if setting.tool == "perftest":
        return _of_rdma(test, machine)
    return _of_drives(test, machine) if setting.tool == "fio" else None


def _of_copies(test: Measurement, machine: Machine) -> Iterator[str]:
    setting = test.setting
    gpus = machine.devices("gpu")
    pair = setting.pair or ""
    numbers = [int(number) for number in _GPU.findall(pair)]
    if setting.engine == "kernel" or setting.state == "pageable" or any(number >= len(gpus) for number in numbers):
        return
    names = [gpus[number].name for number in numbers]
    if setting.direction in ("h2d", "d2h"):
        if pair == "sum" and setting.beside == "others":
            yield f"{setting.direction} {','.join(gpu.name for gpu in gpus)}"
        elif len(names) == 1 and setting.beside is None:
            yield f"{setting.direction} {names[0]}"
        elif len(names) == 1 and setting.beside == "opposite":
            yield f"{setting.direction}-busy {names[0]}" if setting.counted == "one" else f"both {names[0]}"
    elif setting.direction == "p2p" and len(names) == 2 and names[0] != names[1]:
        if "<-" in pair and "->" not in pair:
            names.reverse()
        both = setting.counted == "both"
        if setting.beside in (None, "opposite") and (setting.beside is None or both):
            staged = setting.state == "through-host"
            kind = ("staged" if staged else "p2p-write") if not both else "staged-both" if staged else "p2p-both"
            reads = kind == "p2p-write" and "read" in test.name.lower()
            yield f"{'p2p-read' if reads else kind} {names[0]}>{names[1]}"


def _of_rings(test: Measurement, machine: Machine) -> str | None:
    """All GPUs of the machine: the tool's rows do not say how many ran."""
    setting = test.setting
    gpus = [gpu.name for gpu in machine.devices("gpu")]
    if not (setting.part or "").startswith("bus") or (setting.size_bytes or 0) < _LARGE_BYTES or len(gpus) < 2:
        return None
    return f"{'ring-staged' if machine.p2p is False else 'ring'} {','.join(gpus)}"


def _of_rdma(test: Measurement, machine: Machine) -> str | None:
    setting = test.setting
    nics = machine.devices("nic")
    named = [nic for nic in nics if nic.name == setting.device]
    alike = {(nic.link, nic.line_gbps) for nic in nics}
    if not (named or len(alike) == 1) or (setting.size_bytes or 0) < _LARGE_BLOCK_BYTES:
        return None
    nic, line = (named or nics)[0].name, _line_words(setting)
    if setting.memory == "gpu":
        return _of_rdma_in_gpu(setting, nic, machine, line)
    if setting.counted == "both":
        return f"both {nic}{line}"
    return f"{'d2h' if setting.direction == 'read' else 'h2d'} {nic}{line}"


def _line_words(setting: MeasuredSetting) -> str:
    """The conditions of a question that say what the tool printed of the line."""
    line = line_of_parameters(vars(setting))
    if line.protocol is None:
        return ""
    return f" protocol={line.protocol.word}" + (f" mtu={line.mtu_bytes}" if line.mtu_bytes else "")


def _of_rdma_in_gpu(setting: MeasuredSetting, nic: str, machine: Machine, line: str) -> str | None:
    """Data in the machine's only GPU; the output does not say which of several it was."""
    gpus = machine.devices("gpu")
    if len(gpus) != 1 or setting.counted == "both":
        return None
    [gpu] = gpus
    if setting.direction == "read":
        return f"p2p-write {nic}>{gpu.name}{line}"
    return f"p2p-read {gpu.name}>{nic}{line}"


def _of_drives(test: Measurement, machine: Machine) -> str | None:
    """The one drive of the machine, or the one that the text names."""
    setting = test.setting
    drives = machine.devices("nvme")
    name = re.sub(r"n\d+$", "", setting.device or "")
    named = [drive for drive in drives if drive.name == name] or (drives if len(drives) == 1 else [])
    is_large = setting.pattern == "sequential" and (setting.size_bytes or 0) >= _LARGE_BLOCK_BYTES
    if not named or not is_large or setting.access == "buffered" or setting.direction not in ("read", "write"):
        return None
    return f"{'d2h' if setting.direction == 'read' else 'h2d'} {named[0].name}"
