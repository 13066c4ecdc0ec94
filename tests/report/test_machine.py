"""The report's section on the measured machine."""

import json
from pathlib import Path

from pcielab._core import StoreWriter
from pcielab.charts.run import runs_of
from pcielab.report.doctor import machines
from pcielab.report.page import render
from pcielab.store import Store, open_store

SERVER = (Path(__file__).parents[1] / "lspci_texts" / "pciutils-3.9.txt").read_text()


def store(path: Path, attachments: dict[str, str], origin: str = "measured") -> Store:
    with StoreWriter.create(path, json.dumps({"origin": origin, "title": "mine"})) as writer:
        for name, text in attachments.items():
            writer.attach(name, text)
    return open_store(path)


def test_a_run_with_a_text_of_lspci_shows_the_doctors_findings(tmp_path: Path) -> None:
    runs = runs_of([store(tmp_path / "a.db", {"sys-lspci.txt": SERVER})])
    [machine] = machines(runs)
    assert machine.findings[0].cost == "read of 4096 B: 120.9 of 483.8 Gb/s"
    page = render(runs, [], [])
    assert '<section id="machine">' in page
    assert "link is running at 16 GT/s x8; both ends support 32 GT/s x16" in page


def test_a_small_cost_shows_in_the_digits(tmp_path: Path) -> None:
    slow = SERVER.replace("Speed 16GT/s, Width x4", "Speed 5GT/s, Width x1")
    [machine] = machines(runs_of([store(tmp_path / "a.db", {"sys-lspci.txt": slow})]))
    [cost] = [shown.cost for shown in machine.findings if shown.finding.rule == "ecrc-on"]
    assert cost == "write of 4096 B: 3.78 of 3.81 Gb/s"


def test_a_text_without_functions_is_reported_on_the_page(tmp_path: Path) -> None:
    page = render(runs_of([store(tmp_path / "a.db", {"sys-lspci.txt": "<script>no</script>"})]), [], [])
    assert "no PCI function in this text" in page
    assert "<script>no</script>" not in page


def test_a_simulated_run_has_no_such_section(tmp_path: Path) -> None:
    assert '<section id="machine">' not in render(runs_of([store(tmp_path / "a.db", {}, "simulated")]), [], [])
