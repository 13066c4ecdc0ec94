"""Traces in stores: the numbers of a played trace, and what an interrupted one leaves."""

import signal
from pathlib import Path

import pytest

from pcielab import load_system, open_store
from pcielab.analysis.compare import compare
from pcielab.analysis.explain import explain_rows
from pcielab.errors import InputError
from pcielab.kinds.traces.play import play_into
from pcielab.library.profiles import resolve
from pcielab.port import trace
from pcielab.work.running import stop_when_interrupted

SYSTEM = load_system("hsw2620")
HEADER = "# pcielab trace 1\n# by hand\n"


def test_a_store_has_the_numbers_of_the_transfers(tmp_path: Path) -> None:
    text = trace.record(SYSTEM, "bw-rdwr", size=256, window="64K", transactions=200)
    play_into(tmp_path / "run.db", SYSTEM, text, name="dma.trace")
    store = open_store(tmp_path / "run.db")
    assert (store.kind, store.origin, store.incomplete) == ("traces", "simulated", False)
    done = trace.play(SYSTEM, text)
    for row, write in zip(store.scalars.to_dict("records"), (False, True), strict=True):
        of = [one for one in done if one.write is write]
        latencies_ps = [one.done_ps - one.sent_ps for one in of]
        elapsed_ps = max(one.done_ps for one in of) - min(one.sent_ps for one in of)
        assert row["direction"] == ("write" if write else "read")
        assert row["bandwidth"] == pytest.approx(8000 * sum(one.bytes for one in of) / elapsed_ps)
        assert row["average"] == pytest.approx(sum(latencies_ps) / len(of) / 1000)
        assert row["waited"] == sum(one.sent_ps > one.ready_ps for one in of)
        found = store.distribution(row["id"])
        assert found["count"].sum() == len(of)
        assert found["bin"].iloc[-1] == max(latencies_ps)
        assert store.series(row["id"], "latency_ns")["value"].tolist() == [ps / 1000 for ps in latencies_ps]


def test_fewer_tags_hold_a_trace_and_more_leave_it_its_own_pace(tmp_path: Path) -> None:
    lines = "".join(f"{number * 40_000} read {number % 64 * 64} 64\n" for number in range(400))
    for name, tags in (("few", 2), ("many", 64)):
        system = resolve("hsw2620", [f"link.tags={tags}"])
        play_into(tmp_path / f"{name}.db", system, HEADER + lines, name="paced.trace")
    few, many = (open_store(tmp_path / f"{name}.db") for name in ("few", "many"))
    [held], [free] = (explain_rows(store).rows for store in (few, many))
    assert (held.limits[0].name, free.limits[0].name) == ("tags", "own-demand")
    assert held.share == pytest.approx(1, abs=0.02)
    assert free.share == pytest.approx(1, abs=0.05)
    assert any("2 of 2 tags" in reason for reason in held.reasons)
    [pair] = compare(few, many).pairs
    assert pair["bandwidth_b_gbps"] > 2 * pair["bandwidth_a_gbps"]


def test_an_interrupted_trace_leaves_what_was_done(tmp_path: Path) -> None:
    def interrupt(done: int, _total: int) -> None:
        if done:
            signal.raise_signal(signal.SIGINT)

    long = HEADER + "0 read 0 4194304\n" * 2000
    with stop_when_interrupted() as stop:
        played, total = play_into(
            tmp_path / "run.db", SYSTEM, long, name="long.trace", progress=interrupt, limit=20_000_000, stop=stop
        )
    assert 0 < len(played) < total == 2000
    store = open_store(tmp_path / "run.db")
    assert (store.incomplete, store.extent) == (True, "0 of 1 tests")
    [row] = store.scalars.to_dict("records")
    assert (row["status"], row["transactions"]) == ("interrupted", len(played))
    assert row["message"] == f"stopped after {len(played)} of 2000 transfers"
    assert explain_rows(store).notes[-1] == "1 test without a result left out (interrupted)"


def test_a_store_is_replaced_only_on_request(tmp_path: Path) -> None:
    path, text = tmp_path / "run.db", HEADER + "0 write 0 64\n"
    play_into(path, SYSTEM, text, name="one.trace")
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists"):
        play_into(path, SYSTEM, text, name="one.trace")
    assert path.read_bytes() == before
    play_into(path, SYSTEM, text, name="one.trace", overwrite=True)
