"""Runs whose write-combined stores are not faster than uncached ones say so."""

import json
from pathlib import Path
from typing import Any

import pytest

from pcielab._core import StoreWriter
from pcielab.charts.run import everyone
from pcielab.cli.outcome import report_outcome
from pcielab.kinds.messages.combining import caution
from pcielab.report.provenance import provenance
from pcielab.store import Store, open_store

SIZES = (8, 64, 1024, 65536)


def run(path: Path, gain: float, *, pace: str = "stream", origin: str = "measured", **changes: Any) -> Store:
    """A run of stores at 1 Gb/s uncached, and `gain` times as fast write-combined."""
    device = {"name": "BAR of 10ee:9038", **changes.pop("device", {})}
    with StoreWriter.create(path, json.dumps({"origin": origin, "system": None, "device": device})) as writer:
        tests = [(way, size) for way in ("uncached", "write-combined") for size in SIZES]
        for number, (way, size) in enumerate(tests):
            parameters = {
                "way": way, "size_bytes": size, "pace": pace, "messages": 100, "cores": 1, "sharing": "own-queues",
                "connections": None, "eviction": None, "pressure": None, "generation": None, "lanes": None,
                "store_bytes": 8, "store_kind": "plain", "stores_up_to_bytes": None, **changes,
            }  # fmt: skip
            speed = gain if way == "write-combined" else 1.0
            # At 8 B there is nothing to combine.
            speed = 1.0 if size == 8 else speed
            values = {"bandwidth": (speed, "Gb/s"), "median": (8 * size / speed, "ns")}
            record = {"id": number, "family": "messages", "name": "STORES", "status": "ok"}
            text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
            scalars = [{"metric": name, "unit": unit, "value": value} for name, (value, unit) in values.items()]
            writer.write_test(json.dumps(record | {"parameters": text, "scalars": scalars}))
    return open_store(path)


@pytest.mark.parametrize(
    "pace, at_longest", [("stream", "0.98 against 1 Gb/s"), ("alone", "against 5.243e+05 ns")]
)
def test_a_run_without_gain_says_so_with_numbers(tmp_path: Path, pace: str, at_longest: str) -> None:
    said = caution(run(tmp_path / "run.db", 0.98, pace=pace))
    assert said is not None
    assert said.startswith("write-combined stores are not faster than uncached ones: 0.98 times as fast")
    assert f"median of {len(SIZES) - 1} pairs of tests; at 65536 B" in said
    assert at_longest in said
    assert "the granted memory type is unknown; run as root" in said


def test_the_granted_memory_type_is_named(tmp_path: Path) -> None:
    granted = {"memory_types": {"uncached": "uncached-minus", "write_combined": "write-combining"}}
    said = caution(run(tmp_path / "run.db", 1.0, device=granted))
    assert said is not None
    assert "the kernel granted write-combining; look for an MTRR" in said


@pytest.mark.parametrize("pace", ["stream", "alone"])
def test_a_run_that_combines_says_nothing(tmp_path: Path, pace: str) -> None:
    assert caution(run(tmp_path / "run.db", 4.0, pace=pace)) is None


def test_only_tests_that_could_gain_are_compared(tmp_path: Path) -> None:
    changes: dict[str, dict[str, Any]] = {
        "direct": {"store_kind": "direct", "store_bytes": 64},
        "line": {"store_bytes": 64},
        "emulated": {"origin": "emulated"},
        "simulated": {"origin": "simulated"},
    }
    for name, changed in changes.items():
        assert caution(run(tmp_path / f"{name}.db", 1.0, **changed)) is None, name


def test_the_report_shows_the_caution(tmp_path: Path) -> None:
    [one] = everyone(run(tmp_path / "run.db", 1.0))
    assert "write-combined stores are not faster" in dict(provenance(one).facts)["caution"]
    [other] = everyone(run(tmp_path / "other.db", 4.0))
    assert "caution" not in dict(provenance(other).facts)


def test_the_command_says_the_caution_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report_outcome(run(tmp_path / "run.db", 1.0), "pio:0000:3b:00.0")
    assert capsys.readouterr().err.count("caution: write-combined stores are not faster") == 1
    report_outcome(run(tmp_path / "other.db", 4.0), "pio:0000:3b:00.0")
    assert "caution" not in capsys.readouterr().err
