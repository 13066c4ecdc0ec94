"""The same three sentences for the same question: commands with and without Python, and pages likewise."""

import json
import subprocess
from copy import copy
from pathlib import Path
from typing import Any

import pytest

import pcielab
from pcielab import Frames, _core, model, single_test
from pcielab.explore import answers
from pcielab.explore.page_files import described
from pcielab.explore.question import START, Systems
from pcielab.library.shipped import profile_tables
from pcielab.model import Ethernet
from pcielab.report.figures.why import draw_why
from shell import refuse, succeed
from without_python import static_runner

QUESTIONS = (
    ("bw-rd", {"size": 64}, "gen5-x16", {}),
    ("bw-wr", {"size": 256}, "hsw2620", {}),
    ("bw-rd", {"size": 64, "window": 1 << 24}, "icx-6346", {}),
    ("lat-rd", {"size": 64}, "snb", {}),
    ("bw-rd", {"size": 512}, "gen5-x16", {"link.tags": 16}),
)


@pytest.mark.parametrize(("operation", "words", "name", "sets"), QUESTIONS)
def test_a_test_is_answered_alike_everywhere(
    operation: str, words: dict[str, int], name: str, sets: dict[str, Any]
) -> None:
    options = [word for key, value in words.items() for word in (f"--{key}", value)]
    changes = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    printed = succeed("why", "--test", operation, "--profile", name, *options, *changes).stdout.splitlines()[:3]

    python = pcielab.why(single_test(operation, **words), profile=name, sets=sets)
    assert list(python.sentences) == printed

    kind = "latency" if operation.startswith("lat-") else "bandwidth"
    question = START.model_copy(update={"system": name, "sets": sets, kind: operation, **words})
    system = Systems().resolved(question)
    assert answers.why(question, system, operation)["sentences"] == printed

    command = [static_runner(), "why", "--test", operation, "--profile", name, *map(str, options), *changes]
    without_python = subprocess.run(command, capture_output=True, text=True, check=True)
    assert without_python.stdout.splitlines() == printed

    page = described(Systems().resolved(question.model_copy(update={"sets": {}})))
    asked = {
        "system": json.loads(system.to_json()),
        "title": system.title,
        "question": question.of_tests(),
        "operation": operation,
        **{key: [one for one in page[key].items() if one[0] not in sets] for key in ("unmeasured", "borrowed")},
    }
    assert json.loads(_core.ask_page("why", json.dumps(asked)))["sentences"] == printed


def of_static_runner(*options: str) -> list[str]:
    """The sentences of the command without Python."""
    asked = [static_runner(), "why", *options]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_nic_is_answered_alike_by_commands_and_python() -> None:
    options = ("--nic", "niantic-dpdk", "--line", "100", "--frame", "64", "--gen", "3", "--lanes", "16")
    printed = succeed("why", *options).stdout.splitlines()[:3]
    frames = Frames(model.load_nic("niantic-dpdk"), [64], Ethernet(line_gbps=100.0))
    link = model.Link(generation=3, lanes=16, mps_bytes=256, mrrs_bytes=512)
    assert list(pcielab.why(frames, link=link).sentences) == printed
    assert of_static_runner(*options) == printed


@pytest.mark.parametrize(
    "options",
    [
        ("--line", "400", "--frame", "128", "--direction", "rx", "--mps", "0.5K"),
        ("--line", "100", "--frame", "64", "--measured", "39", "--set", "nic.step.1.batch=8"),
    ],
)
def test_a_nic_on_a_usual_link_is_answered_alike_without_python(options: tuple[str, ...]) -> None:
    asked = ("--nic", "connectx-7", *options)
    assert of_static_runner(*asked) == succeed("why", *asked).stdout.splitlines()[:3]


def test_a_nic_on_a_machine_is_answered_alike_without_python() -> None:
    """Queues that a few packets fill."""
    short = {"queues.descriptors_held": 16, "queues.ring_descriptors": 64, "queues.receive_fifo_bytes": 2048}
    sets = [f"nic.{key}={value}" for key, value in short.items()]
    frames = Frames(model.load_nic("simple-nic"), [1500], Ethernet(line_gbps=400.0), "tx")
    answer = pcielab.why(frames, profile="gen5-x16", sets=sets)
    assert answer.sentences[0].endswith(": it holds 16 descriptors, the most it can.")
    asked = ("--nic", "simple-nic", "--line", "400", "--frame", "1500", "--direction", "tx")
    changes = [word for change in sets for word in ("--set", change)]
    assert of_static_runner(*asked, "--profile", "gen5-x16", *changes) == list(answer.sentences)


@pytest.mark.parametrize(
    "options",
    [
        ("--nic", "connectx-7", "--size", "64"),
        ("--nic", "connectx-7", "--profile", "gen5-x16", "--lanes", "8"),
        ("--nic", "connectx-7", "--frame", "63"),
        ("--nic", "connectx-7", "--line", "41"),
        ("--nic", "connectx-7", "--set", "nic.queues.pair=2"),
        ("--nic", "connectx-7", "--measured", "0"),
        ("--test", "bw-rd", "--measured", "0"),
    ],
)
def test_questions_are_refused_alike_without_python(options: tuple[str, ...]) -> None:
    refused = subprocess.run([static_runner(), "why", *options], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    words = refuse("why", *options).splitlines()[-1].removeprefix("error: ")
    assert refused.stderr.removeprefix("pcielab-run: ").strip() == words


def test_a_store_is_answered_alike_and_says_what_nobody_measured(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    store = pcielab.simulate("gen5-x16", single_test("bw-rd", size=64, transactions=200_000), path)
    printed = succeed("why", path).stdout.splitlines()[:3]
    answer = pcielab.why(store)
    assert list(answer.sentences) == printed
    assert "(assumed)" in printed[0]
    subtitle = " ".join(draw_why(answer).to_dict()["title"]["subtitle"])
    assert subtitle == " ".join(printed)
    asked = pcielab.why(single_test("bw-rd", size=64), profile="gen5-x16")
    clause = "with a read request every 2 ns (assumed)"
    assert clause in printed[0]
    assert clause in asked.sentences[0]


@pytest.mark.parametrize("changes", [{}, {"link.tags": 16}])
def test_a_store_of_an_earlier_version_asks_the_shipped_system(changes: dict[str, Any], tmp_path: Path) -> None:
    system = pcielab.load_system("gen5-x16").with_(changes)
    store = pcielab.simulate(system, single_test("bw-rd", transactions=5_000), tmp_path / "run.db")
    old, other = copy(store), copy(store)
    old.manifest = {key: value for key, value in store.manifest.items() if key != "unmeasured"}
    assert pcielab.why(old).sentences == pcielab.why(store).sentences
    other.manifest = {**old.manifest, "system": {**old.manifest["system"], "name": "a machine of mine"}}
    unknown = pcielab.why(other)
    assert "(assumed)" not in unknown.sentences[0]
    assert any("does not say which values of its system were measured" in note for note in unknown.notes)


def test_a_file_of_ones_own_says_without_a_server_and_python_what_nobody_measured(tmp_path: Path) -> None:
    head = 'name = "mine"\ntitle = "Mine"\nbase = "gen5-x16"\n[set]\n"host.iommu.walk_ns" = 100\n'
    text = f'{head}[provenance]\nsource = "me"\n'
    path = tmp_path / "mine.toml"
    path.write_text(text)
    options = ("--test", "bw-rd", "--size", "64", "--profile", str(path))
    printed = succeed("why", *options).stdout.splitlines()[:3]
    assert "(assumed)" in printed[0]

    shipped = profile_tables("system", "host", "device", "link")
    own = json.loads(_core.ask_page("own", json.dumps({"file": "mine.toml", "text": text, "shipped": shipped})))
    keys = {key: list(own[key].items()) for key in ("unmeasured", "borrowed")}
    asked = {
        "system": own["system"],
        "title": own["title"],
        "operation": "bw-rd",
        "question": {"size": 64},
        **keys,
    }
    assert json.loads(_core.ask_page("why", json.dumps(asked)))["sentences"] == printed

    without_python = subprocess.run([static_runner(), "why", *options], capture_output=True, text=True, check=True)
    assert without_python.stdout.splitlines() == printed
