"""What machines should give: published boxes with their own site left out, and properties of all answers."""

import csv
import random
from pathlib import Path
from typing import Any

import pytest

from pcielab.errors import InputError
from pcielab.expectations.answers import answer
from pcielab.expectations.asking import questions_of
from pcielab.expectations.described import machine_of
from pcielab.expectations.expecting import expect
from pcielab.expectations.judging import judged, scores
from pcielab.expectations.machine import Machine, expanded
from pcielab.expectations.processors import family_of_ids, family_of_name
from pcielab.expectations.questions import KINDS, OF_ACCESSES, OF_PACKETS, read_question
from pcielab.expectations.reading import read
from pcielab.expectations.tables import box, box_names, box_rows, shipped_ranges
from pcielab.library import shipped

ROOT = Path(__file__).parents[3]
LSPCI = ROOT / "tests" / "lspci_texts"
INTEL = {
    "kind": "machine",
    "name": "intel",
    "processor": "Xeon Platinum 8480+",
    "sockets": 2,
    "device": [
        {"name": "gpu0..3", "kind": "gpu", "link": "gen5x16", "socket": 0},
        {"name": "nic0", "kind": "nic", "link": "gen5x16", "socket": 0, "line_gbps": 400},
    ],
}


def test_boxes_that_are_left_out_of_the_tables_are_inside_the_ranges_of_the_others() -> None:
    verdicts = judged(box_rows())
    single, shared = scores(verdicts)
    assert single.rows + shared.rows + sum(one.is_collapse for one in verdicts) == len(box_rows())
    assert shared.inside >= 0.78 * shared.rows
    assert shared.width is not None
    assert shared.width <= 1.5
    answered = single.rows - single.unknown - single.refused
    assert single.inside >= 0.76 * single.rows
    assert single.inside >= 0.91 * answered
    assert single.width is not None
    assert single.width <= 1.21
    assert not [one.row.id for one in verdicts if one.is_far_below and not one.is_collapse]
    edges = [one.has_right_edge for one in verdicts if one.has_right_edge is not None]
    assert sum(edges) >= 0.86 * len(edges)


def test_the_ranges_of_a_site_rest_on_none_of_its_rows() -> None:
    for row in box_rows()[::9]:
        if row.asks:
            machine = box(row.box)
            given = answer(machine, read_question(row.asks, machine), shipped_ranges(row.site))
            own = {other.id for other in box_rows() if other.site == row.site}
            assert not own & set(given.rows), row.id


def test_rows_have_sources_and_boxes() -> None:
    assert {row.box for row in box_rows()} <= set(box_names())
    assert all(row.source_title and row.source_ref and row.confidence != "low" for row in box_rows())


def test_four_gpus_of_an_intel_socket_share_its_memory() -> None:
    machine = machine_of(INTEL)
    given = answer(machine, read_question("d2h gpu0..3", machine), shipped_ranges())
    assert given.limit_kind == "memory"
    assert given.lower is not None
    assert given.upper is not None
    assert given.lower < 4 * 38.1 < given.upper < 4 * 57.5


@pytest.mark.parametrize("question", ["h2d nic0", "p2p-read gpu0>nic0", "p2p-write nic0>gpu0", "both nic0"])
def test_a_nic_moves_no_more_than_its_line(question: str) -> None:
    machine = machine_of(INTEL)
    given = answer(machine, read_question(question, machine), shipped_ranges())
    ways = 2 if question.startswith("both") else 1
    assert given.bound is not None
    assert given.bound <= 50.0 * ways
    assert given.upper is not None
    assert given.upper <= 50.0 * ways


def test_redirected_requests_share_the_uplink_in_both_directions() -> None:
    machine = box("turin2s-bcm890xx")
    plain = answer(machine, read_question("p2p-both gpu0>gpu1", machine), shipped_ranges())
    redirected = answer(machine, read_question("p2p-both gpu0>gpu1 redirect", machine), shipped_ranges())
    assert redirected.limit_kind == "uplink"
    assert redirected.upper is not None
    assert plain.lower is not None
    assert redirected.upper < 0.7 * plain.lower


def test_a_collapse_is_warned_of() -> None:
    machine = box("turin2s-bcm890xx")
    given = answer(machine, read_question("p2p-write gpu0>gpu4 gpu1>gpu6", machine), shipped_ranges())
    assert any("collapse" in note for note in given.notes)


def test_links_beside_pcie_without_a_rate_are_unknown() -> None:
    machine = machine_of(
        {
            "kind": "machine",
            "device": [{"name": "gpu0..3", "kind": "gpu", "link": "gen5x16"}],
            "peers": [{"kind": "infinity-fabric", "devices": "gpu0..3"}],
        }
    )
    given = answer(machine, read_question("p2p-write gpu0>gpu1", machine), shipped_ranges())
    assert given.unknown == ("infinity-fabric of gpu0>gpu1",)
    assert given.sureness == "unknown"
    assert given.lower is None
    assert given.upper is None


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("AMD EPYC 9575F 64-Core Processor", "turin"),
        ("EPYC 7542", "starship"),
        ("AMD Ryzen Threadripper PRO 7955WX 16-Cores", "genoa"),
        ("AMD Ryzen Threadripper PRO 3995WX", "starship"),
        ("INTEL(R) XEON(R) PLATINUM 8480+", "sapphire-rapids"),
        ("Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz", "broadwell"),
        ("Intel(R) Xeon(R) Gold 6248 CPU", "skylake"),
        ("Xeon Gold 6346", "ice-lake"),
        ("turin", "turin"),
        ("a processor", None),
    ],
)
def test_families_by_name(name: str, family: str | None) -> None:
    found = family_of_name(name)
    assert (found.name if found else None) == family


def test_families_by_root_ports() -> None:
    assert read(LSPCI / "epyc-9354-genoa.txt").family == "genoa"
    assert read(LSPCI / "xeon-8480-sapphire-rapids.txt").family == "sapphire-rapids"
    assert read(LSPCI / "epyc-7302-rome.txt").family == "starship"
    assert family_of_ids(["1022:14ab", "8086:352a"]) is None
    assert read(LSPCI / "epyc-9354-genoa.txt", processor="EPYC 9575F").family == "turin"


def test_lines_of_nics_are_those_of_the_table_of_hardware() -> None:
    with (ROOT / "crates/pcie-doctor/data/hardware.csv").open(newline="") as file:
        lines = {
            (row["vendor"], row["device"]): row["value"]
            for row in csv.DictReader(file)
            if row["fact"] == "line_gbps" and row["value"]
        }
    with (shipped.directory("profiles") / "published" / "nic-lines.csv").open(newline="") as file:
        assert {(row["vendor"], row["device"]): row["line_gbps"] for row in csv.DictReader(file)} == lines
    assert read(LSPCI / "epyc-9354-genoa.txt").part("nic0").line_gbps == 400


def random_machine(seed: int) -> Machine:
    """A machine with switches, GPUs, NICs and drives at random positions."""
    draw = random.Random(seed)
    sockets = draw.choice((1, 2))
    processor = draw.choice(("EPYC 9575F", "EPYC 7542", "Xeon Gold 6248", "Xeon Platinum 8480+", "POWER9", ""))
    links = [f"gen{generation}x{lanes}" for generation in (3, 4, 5) for lanes in (4, 8, 16)]
    switches = [
        {"name": f"sw{at}", "link": draw.choice(links), "socket": draw.randrange(sockets), "stack": str(at % 4)}
        for at in range(draw.randint(0, 3))
    ]
    devices = []
    for kind, most in (("gpu", 6), ("nic", 2), ("nvme", 3)):
        for at in range(draw.randint(kind == "gpu", most)):
            device: dict[str, Any] = {"name": f"{kind}{at}", "kind": kind, "link": draw.choice(links)}
            if switches and draw.random() < 0.6:
                device["below"] = draw.choice(switches)["name"]
            else:
                device |= {"socket": draw.randrange(sockets)}
            if kind == "nic":
                device["line_gbps"] = draw.choice((100, 200, 400))
            devices.append(device)
    found = {"kind": "machine", "sockets": sockets, "switch": switches, "device": devices}
    return machine_of(found | ({"processor": processor} if processor else {}))


@pytest.mark.parametrize("seed", range(40))
def test_answers_of_random_machines_are_in_order(seed: int) -> None:
    machine = random_machine(seed)
    for asked in questions_of(machine):
        question = read_question(asked.text, machine)
        given = answer(machine, question, shipped_ranges())
        ends = [end for end in (given.lower, given.upper, given.bound) if end is not None]
        assert ends == sorted(ends), asked.text
        assert given.limit
        if asked.kind in ("p2p-write", "p2p-read") and len(question.pairs) == 1:
            way = machine.way(*question.pairs[0])
            reads = asked.kind == "p2p-read"
            least = min(
                part.link.bound_gbytes_per_s("up", reads=reads) for part in (*way.up, *way.down) if part.link
            )
            assert given.upper is not None
            assert given.upper <= least * (1 + 1e-9)


def test_every_kind_of_question_has_an_answer_or_a_reason() -> None:
    machine = box("rome2s-8x4090")
    devices = ("h2d", "d2h", "both", "h2d-busy", "d2h-busy", "store", "all-to-all", "all-to-all-read", "ring")
    for kind in KINDS:
        if kind in OF_PACKETS or kind == "latency-rdma":
            continue  # of NICs
        of = "gpu0..3" if kind in (*devices, *OF_ACCESSES, "ring-staged") else "gpu0>gpu4"
        given = answer(machine, read_question(f"{kind} {of}", machine), shipped_ranges())
        assert given.rows or given.unknown, kind


def test_questions_of_a_machine_name_each_class_once() -> None:
    asked = [one.text for one in questions_of(box("rome2s-8x4090"))]
    assert len(set(asked)) == len(asked)
    assert {"h2d gpu0", "p2p-write gpu0>gpu1", "p2p-write gpu0>gpu4", "ring gpu0..7", "all-to-all gpu0..7"} <= set(
        asked
    )
    assert not any(text.startswith("h2d gpu1") for text in asked)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("h2d", "write them as h2d gpu0..3"),
        ("h2d gpu9", "no device of rome2s-8x4090"),
        ("p2p-write gpu0", "write them as p2p-write gpu0>gpu1"),
        ("p2p-write gpu0>gpu0", "is both ends"),
        ("p2p-write gpu0..1>gpu2..4", "give equal numbers"),
        ("ring gpu0", "needs two or more devices"),
        ("copy gpu0", "unknown"),
        ("h2d gpu0 memory=7", "give a socket"),
        ("h2d gpu3..0", "the range is empty"),
        ("h2d gpu..x", "not a range"),
        ("", "unknown"),
    ],
)
def test_wrong_questions_are_refused(question: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_question(question, box("rome2s-8x4090"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sockets": 0}, "sockets is 0"),
        ({"sockets": "two"}, "give 1 to 16"),
        ({"device": []}, "no device"),
        ({"device": [{"name": "gpu0", "kind": "gppu"}]}, "device.0.kind"),
        ({"device": [{"name": "gpu0", "kind": "gpu", "link": "gen9x16"}]}, "as gen5x16"),
        ({"device": [{"name": "gpu0", "kind": "gpu", "below": "sw1"}]}, "below"),
        ({"device": [{"name": "gpu0", "kind": "gpu"}] * 2}, "is there twice"),
        ({"device": [{"name": "gpu 0", "kind": "gpu"}]}, "give letters and digits"),
        ({"device": [{"name": "gpu0", "kind": "gpu", "lanes": 4}]}, "unknown key"),
        ({"switch": [{"name": "a", "below": "b"}, {"name": "b", "below": "a"}]}, "below itself"),
        ({"peers": [{"kind": "nvlink", "devices": "gpu0..9"}]}, "peers.devices"),
        ({"p2p": "yes"}, "give true or false"),
        ({"devices": []}, "unknown key"),
    ],
)
def test_wrong_machines_are_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        machine_of(INTEL | change)


def test_names_of_ranges() -> None:
    assert expanded("gpu0..2,nic4") == ["gpu0", "gpu1", "gpu2", "nic4"]
    assert expanded("gpu6..gpu7") == ["gpu6", "gpu7"]


def test_a_gpu_at_rest_is_taken_to_reach_what_both_ends_support() -> None:
    machine = read(LSPCI / "xeon-8480-sapphire-rapids.txt")
    link = machine.part("gpu0").link
    assert link is not None
    assert link.words == "Gen5 x16"
    assert any("lowers its speed at rest" in note for note in machine.notes)


def test_gpus_with_links_of_their_own_are_not_asked_over_pcie(tmp_path: Path) -> None:
    text = (LSPCI / "epyc-9354-genoa.txt").read_text()
    changed = text.replace("Ethernet controller [0200]", "Processing accelerators [1200]")
    changed = changed.replace("Non-Volatile memory controller [0108]", "Processing accelerators [1200]")
    changed = changed.replace("[15b3:1021]", "[1002:74a1]").replace("[1e0f:0013]", "[1002:74a1]")
    file = tmp_path / "mi300x.txt"
    file.write_text(changed)
    machine = read(file)
    one, other = (gpu.name for gpu in machine.devices("gpu"))
    given = answer(machine, read_question(f"p2p-write {one}>{other}", machine), shipped_ranges())
    assert given.unknown == (f"infinity-fabric of {one}>{other}",)
    assert any("infinity-fabric links" in note for note in machine.notes)


def test_shipped_fabrics_are_machines() -> None:
    found = expect("fabrex-u55c")
    assert found.rows
    assert all(row.given is not None or row.missing for row in found.rows)
    with pytest.raises(InputError, match="shows no device"):
        expect("walk-through")


def test_the_frame_has_a_row_for_each_question() -> None:
    found = expect("rome2s-8x4090", ask=["p2p-write gpu0>gpu4", "ring gpu0..7"])
    assert list(found.frame["question"]) == ["p2p-write gpu0>gpu4", "ring gpu0..7"]
    assert (found.frame["lower"] < found.frame["upper"]).all()
