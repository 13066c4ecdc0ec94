import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from pcielab import Store, open_store, resolve, simulate, single_test
from pcielab._core import StoreWriter
from pcielab.kinds.transfers.explain import explain_run
from pcielab.kinds.transfers.words import REMEDIES, asked, bound_sentences, in_words
from pcielab.model.answers import Bound


def test_every_bound_has_a_remedy() -> None:
    assert set(get_args(Bound)) <= REMEDIES.keys()


def test_describes_a_bandwidth_with_bound_and_fix(tmp_path: Path) -> None:
    suite = single_test("bw-rd", window="64M", transactions=20_000)
    simulate(resolve("ib-000-nosp"), suite, tmp_path / "run.db")
    sentences = list(in_words(open_store(tmp_path / "run.db"), 0))
    assert [sentence.partition(":")[0] for sentence in sentences] in (
        ["test", "bound", "fix"],
        ["test", "bound", "possible causes of the rest", "fix"],
    )
    assert "64 B" in sentences[0]
    assert "64 MiB" in sentences[0]
    assert "page-walks" in sentences[1]
    assert "larger pages" in sentences[-1]
    assert "next bound: " in sentences[-1]


def test_describes_a_latency_with_its_causes(tmp_path: Path) -> None:
    simulate(resolve("ib-000-nosp"), single_test("lat-rd", window="64M", transactions=2000), tmp_path / "run.db")
    sentences = list(in_words(open_store(tmp_path / "run.db"), 0))
    assert len(sentences) == 2
    assert "IO-TLB" in sentences[1]


def test_reports_a_value_above_its_bound(tmp_path: Path) -> None:
    simulate(resolve("snb"), single_test("bw-rd", transactions=20_000), tmp_path / "run.db")
    [row] = explain_run(open_store(tmp_path / "run.db")).rows
    assert not row.exceeds_bound
    above = replace(row, value_gbps=1.02 * row.answer.gbps)
    [said] = [sentence for sentence in bound_sentences(above) if sentence.startswith("above its bound by 2.0 %")]
    assert "the store was changed, or pcielab is wrong" in said
    assert not replace(above, simulated=False).exceeds_bound, "a measurement may be above an incomplete model"
    short = replace(above, parameters={**row.parameters, "transactions": 2000})
    [said] = [sentence for sentence in bound_sentences(short) if sentence.startswith("above its bound by 2.0 %")]
    assert "as tests of fewer than 65,536 transfers may" in said
    assert replace(short, value_gbps=1.1 * row.answer.gbps).exceeds_bound, "more than a short test scatters"


def test_a_short_test_above_its_average_bound_is_no_defect(tmp_path: Path) -> None:
    """One of these seeds draws fewer misses of the IO-TLB than the average; enough transfers draw the average."""
    notes: list[str] = []
    for seed in range(1, 9):
        short = single_test("bw-wr", window="64M", cache="host-warm", transactions=2000)
        simulate(resolve("ib-000-nosp"), short, tmp_path / f"{seed}.db", seed=seed)
        notes += explain_run(open_store(tmp_path / f"{seed}.db")).notes
    long = single_test("bw-wr", window="64M", cache="host-warm", transactions=1 << 16)
    simulate(resolve("ib-000-nosp"), long, tmp_path / "long.db")
    steady = explain_run(open_store(tmp_path / "long.db")).notes
    assert any("1 simulated value exceeds its bound by 1 % or more" in note for note in notes)
    assert not any("pcielab is wrong" in note for note in notes)
    assert not any("exceed" in note for note in steady)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"window": "3K"}, "a window of 3 KiB"),
        ({"window": "5000"}, "a window of 5000 B"),
        ({"host_offset": 3}, "3 B past a cache line of the host"),
        ({"outstanding": 4}, "at most 4 in flight"),
        ({"cache": "host-warm", "pattern": "sequential"}, "sequential in a window of 8 KiB, host wrote"),
    ],
)
def test_describes_every_parameter(options: dict[str, object], words: str) -> None:
    suite = single_test("bw-rd", **options)
    assert words in asked(suite.tests[0]["parameters"])


def drive(path: Path, origin: str = "measured") -> Store:
    """A store of a drive's latency with the parts that the drive measured alone."""
    parameters = {
        "operation": "lat-rd", "path": "dma", "pattern": "random", "cache": "cold", "size_bytes": 512,
        "window_bytes": 8192, "host_offset_bytes": 0, "device_offset_bytes": 0, "stride_units": 1,
        "outstanding": None, "transactions": 1000, "details": False,
    }  # fmt: skip
    scalars = [
        {"subject": subject, "metric": metric, "unit": unit, "value": value}
        for subject, metric, unit, value in (
            ("verify", "median", "ns", 900.0),
            ("verify", "standard_error", "ns", 3.0),
            ("transfer", "difference", "ns", 9.0),
            ("transfer", "standard_error", "ns", 5.0),
            ("condition", "floor_standard_error", "ns", 2.0),
            ("condition", "cold_share", "1", 0.75),
        )
    ]
    manifest = {
        "origin": origin,
        "backend": {"kind": "nvme"},
        "device": {"name": "a drive", "latency_includes": ["doorbell", "controller"]},
    }
    record = {"id": 0, "family": "f", "name": "LAT_DMA_RD", "status": "ok", "scalars": scalars}
    with StoreWriter.create(path, json.dumps(manifest)) as writer:
        writer.write_test(json.dumps(record | {"parameters": json.dumps(parameters)}))
    return open_store(path)


def test_gives_the_parts_of_a_drives_latency_with_their_standard_errors(tmp_path: Path) -> None:
    sentences = list(in_words(drive(tmp_path / "run.db"), 0))
    assert sentences[1:] == [
        "includes: doorbell, controller",
        "parts: verify 900 ns (standard error 3.0 ns), transfer 9 ns (standard error 5.0 ns, not resolvable)",
        "caches: 75 % of the sampled lines of the window were cold before it was prepared",
    ]
    emulated = list(in_words(drive(tmp_path / "emulated.db", origin="emulated"), 0))
    assert not [sentence for sentence in emulated if sentence.startswith(("parts", "caches"))]
