"""Causes that a measured run's rows suggest, and those that its text of lspci rules out."""

import json
from pathlib import Path
from typing import Any

from pcielab._core import StoreWriter
from pcielab.kinds.transfers.checks import Check, checks
from pcielab.kinds.transfers.explain import explain_run
from pcielab.store import open_store

CARD = """\
00:01.0 PCI bridge: Intel Corporation Root Port
	Bus: primary=00, secondary=01, subordinate=01, sec-latency=0
	Capabilities: [90] Express (v2) Root Port (Slot+), MSI 00
		DevCap:	MaxPayload 256 bytes, PhantFunc 0
		DevCtl:	MaxPayload 256 bytes, MaxReadReq 128 bytes
		LnkCap:	Port #1, Speed 8GT/s, Width x8, ASPM L1
		LnkSta:	Speed 8GT/s, Width x8, TrErr-

01:00.0 Ethernet controller: Netronome Systems, Inc. Device 6000
	Control: I/O- Mem+ BusMaster+ SpecCycle-
	Capabilities: [c0] Express (v2) Endpoint, MSI 00
		DevCap:	MaxPayload 256 bytes, PhantFunc 0
			ExtTag+ AttnBtn-
		DevCtl:	RlxdOrd+ ExtTag+ PhantFunc-
			MaxPayload 256 bytes, MaxReadReq 512 bytes
		LnkCap:	Port #0, Speed 8GT/s, Width x8, ASPM L0s L1
		LnkCtl:	ASPM Disabled; RCB 64 bytes Disabled- CommClk+
		LnkSta:	Speed 8GT/s, Width x8, TrErr-
"""


def row(number: int, operation: str, gbps: float, **changes: Any) -> dict[str, Any]:
    parameters = {
        "operation": operation, "path": "dma", "pattern": "random", "cache": "host-warm", "size_bytes": 2048,
        "window_bytes": 8192, "host_offset_bytes": 0, "device_offset_bytes": 0, "stride_units": 1,
        "outstanding": None, "transactions": 1000, "details": False,
    } | changes  # fmt: skip
    scalars = [{"metric": "bandwidth", "unit": "Gb/s", "value": gbps}]
    test = {"id": number, "family": "f", "name": operation, "status": "ok", "scalars": scalars}
    return test | {"parameters": json.dumps(parameters)}


def found(path: Path, rows: list[dict[str, Any]], origin: str = "measured", text: str = CARD) -> dict[str, Check]:
    with StoreWriter.create(path / "run.db", json.dumps({"origin": origin})) as writer:
        for one in rows:
            writer.write_test(json.dumps(one))
        writer.attach("sys-lspci.txt", text)
    store = open_store(path / "run.db")
    return {check.key: check for check in checks(store, explain_run(store))}


SLOW_READS = [row(0, "bw-rd", 20.0), row(1, "bw-wr", 55.0)]
FALLING = [row(0, "bw-wr", 55.0), row(1, "bw-wr", 20.0, window_bytes=64 << 20)]


def test_slow_reads_suggest_too_few_in_flight_and_no_cause_that_registers_rule_out(tmp_path: Path) -> None:
    causes = found(tmp_path, SLOW_READS)
    assert "reads reach 0.3" in causes["D17"].seen[0]
    assert not {"D01", "D10", "D11", "D12"} & set(causes)


def test_hidden_registers_rule_no_cause_out(tmp_path: Path) -> None:
    unshown = CARD.replace(
        "		DevCap:	MaxPayload 256 bytes, PhantFunc 0\n			ExtTag+ AttnBtn-\n", ""
    )
    assert {"D11", "D12"} <= set(found(tmp_path, SLOW_READS, text=unshown))


def test_loss_over_windows_suggests_translation_and_caches(tmp_path: Path) -> None:
    assert {"D22", "D32"} <= set(found(tmp_path, FALLING))


def test_rows_at_their_bounds_suggest_no_cause(tmp_path: Path) -> None:
    assert found(tmp_path, [row(0, "bw-rd", 57.0), row(1, "bw-wr", 56.0)]) == {}


def test_simulated_run_has_no_checks(tmp_path: Path) -> None:
    assert found(tmp_path, SLOW_READS, origin="simulated") == {}
