"""`make gpu-first` carries out every step over a stand-in for the driver, and goes on where one fails."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pcielab.devices.cuda.driver import DriverError

from .stand_in import StandIn
from .test_run import SMALL


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "bench")
    import gpu_first

    # No other program is asked.
    monkeypatch.setattr(gpu_first, "_program", lambda *_command: [])
    monkeypatch.setattr(gpu_first, "BUFFER_BYTES", 8 << 20)
    monkeypatch.setattr(gpu_first, "WINDOWS", gpu_first.WINDOWS[:3])
    small = [
        (name, min(size, 1 << 20), min(window, "4M", key=_bytes)) for name, size, window in gpu_first.BANDWIDTHS
    ]
    monkeypatch.setattr(gpu_first, "BANDWIDTHS", sorted(set(small)))
    yield gpu_first
    for name in ("gpu_first", "gpu_figures"):
        sys.modules.pop(name, None)


def _bytes(window: str) -> int:
    return int(window[:-1]) << {"K": 10, "M": 20}[window[-1]]


def lines_of(script: ModuleType, folder: Path, **options: object) -> tuple[list[str], list[bool | None]]:
    (folder / "small.toml").write_text(SMALL)
    first = script.First("cuda", folder, transactions=2000, kept=str(folder / "small.toml"))
    lines, verdicts = zip(*script.carry_out(first, **options), strict=True)
    return list(lines), list(verdicts)


def test_every_step_shows_what_it_must(stand_in: StandIn, script: ModuleType, tmp_path: Path) -> None:
    lines, verdicts = lines_of(script, tmp_path)
    text = "\n".join(lines)
    assert False not in verdicts, text
    assert "met: reads of 4, 8 and 16 B agree within 3 %" in text
    assert "4 B: read 1981 cycles, atomic addition of 0 1981 cycles" in text
    assert "met: adding 0 leaves the host's memory as it was: 0 words differ" in text
    assert "met: every test is ok" in text
    assert stand_in.open_contexts == 0
    assert (tmp_path / "kept.db").exists()


def test_a_step_that_fails_is_named_and_the_next_one_goes_on(
    stand_in: StandIn, script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_arguments: object) -> float:
        raise DriverError("cuLaunchKernel", "CUDA_ERROR_INVALID_VALUE", "on purpose")

    monkeypatch.setattr(script, "median_cycles", failing)
    script.STEPS = (script.opening, script.atomics, script.latencies)
    lines, verdicts = lines_of(script, tmp_path)
    failed = [line for line, verdict in zip(lines, verdicts, strict=True) if verdict is False]
    assert len(failed) == 1
    assert failed[0].startswith("FAILED: DriverError: cuLaunchKernel")
    assert any(line.startswith("met: reads of 4, 8 and 16 B") for line in lines)


def test_reads_that_differ_by_size_are_not_met(stand_in: StandIn, script: ModuleType, tmp_path: Path) -> None:
    """As a kernel showed them that counted its own loop."""
    timed = StandIn._latency

    def slower(self: StandIn, kernel: str, *arguments: int) -> None:
        self.round_trip_ns = 1100.0 if kernel == "latency_read_4_1" else 1000.0
        timed(self, kernel, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules[StandIn.__module__].__dict__["_KERNELS"], "latency_", ("latency.cu", slower))
        script.STEPS = (script.latencies,)
        lines, _ = lines_of(script, tmp_path)
    assert any(line.startswith("NOT MET: reads of 4, 8 and 16 B agree within 3 %: 9.9") for line in lines), lines


def test_no_step_begins_when_the_time_is_nearly_over(
    stand_in: StandIn, script: ModuleType, tmp_path: Path
) -> None:
    times = iter([0.0, *(number * 200.0 for number in range(len(script.STEPS)))])
    lines, verdicts = lines_of(script, tmp_path, clock=lambda: next(times))
    assert lines.count("left out: 10 minutes are nearly over") == verdicts.count(False) == len(script.STEPS) - 3


def test_copies_are_set_beside_those_of_other_programs(
    stand_in: StandIn, script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The stand-in moves 25 B/ns, 200 Gb/s.
    shown = {"RD": "200.5", "WR": "210.0"}

    def program(*command: str) -> list[str]:
        if command[0] == "nvbandwidth":
            way = "RD" if command[2].startswith("host") else "WR"
            return [f"SUM {command[2]} {float(shown[way]) / 8:.2f}"]
        return [f"{way} {value}" for way, value in shown.items()] if "-c" in command else []

    monkeypatch.setattr(script, "_program", program)
    script.STEPS = (script.bandwidths,)
    monkeypatch.setattr(script, "COPY_BYTES", 1 << 20)
    script.BANDWIDTHS = [(f"BW_DMA_{way}", 1 << 20, "4M") for way in ("RD", "WR")]
    lines, _ = lines_of(script, tmp_path)
    for other in ("torch's copies", "nvbandwidth"):
        assert any(line.startswith("met: BW_DMA_RD") and other in line for line in lines), lines
        assert any(line.startswith("NOT MET: BW_DMA_WR") and other in line for line in lines), lines
