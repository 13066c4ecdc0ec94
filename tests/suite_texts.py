"""Small suites, a design and a text of lspci, as tests write them into files."""

import json
from typing import Any

LSPCI = """\
3b:00.0 Ethernet controller: Netronome Systems, Inc. Device 6000
\tControl: I/O- Mem+ BusMaster+ SpecCycle-
\tCapabilities: [c0] Express (v2) Endpoint, MSI 00
\t\tDevCtl:\tReport errors: Correctable-
\t\t\tRlxdOrd+ ExtTag- PhantFunc-
\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes Disabled- CommClk+
\t\tLnkSta:\tSpeed 8GT/s, Width x8, TrErr- Train-
"""
DESIGN = """\
name = "tags"
title = "Tags for reads"
hosts = ["hsw2620"]
set = { device = "fpga-xdma" }

[[free]]
key = "device.dma.tags"
values = "2:12:2"
cost = 1

[[target]]
test = "bw-rd"
size = 512
at_least_gbps = 40
"""
_LOOPS = (("test", "tests"), ("way", "ways"), ("size", "sizes"), ("cache", "caches"), ("window", "windows"))


def suite_text(*groups: dict[str, Any], name: str = "small") -> str:
    """A suite of these groups, as TOML with a line for each key."""
    head = {"name": name, "title": "A small suite"}
    return (
        _lines(head) + "[provenance]\nsource = 'a test'\n" + "".join(f"[[group]]\n{_lines(one)}" for one in groups)
    )


def transfers(family: str, tests: str, *sizes: int | str, **keys: Any) -> dict[str, Any]:
    """A group of the tests in `tests`: 8 KiB windows, cold caches, random addresses, unless `keys` has others."""
    defaults = {"windows": ["8K"], "caches": ["cold"], "patterns": ["random"]}
    return _looped({"family": family, "tests": tests.split(), "sizes": list(sizes)} | defaults | keys)


def messages(family: str, ways: str, *sizes: int, **keys: Any) -> dict[str, Any]:
    """A group that sends messages in the ways in `ways`, each alone unless `keys` has another pace."""
    return _looped({"family": family, "ways": ways.split(), "sizes": list(sizes), "pace": "alone"} | keys)


def _looped(group: dict[str, Any]) -> dict[str, Any]:
    """A group that loops over every key with more than one value."""
    loop = [word for word, key in _LOOPS if len(group.get(key, ())) > 1]
    return {"loop": loop} | group if loop else group


def _lines(table: dict[str, Any]) -> str:
    """Keys as TOML: strings, numbers and lists of them are written as in JSON."""
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
