"""Own systems and fabrics on pages: the server takes right files, and answers wrong ones with what is wrong."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabric_machines import MACHINES, NCCL
from pcielab import InputError
from pcielab.doctor import machine_of_text, saved
from pcielab.explore.answers import taken_out
from pcielab.explore.dropped import FILES_MOST, Dropped
from pcielab.explore.fabrics import NODES_MOST, Fabrics
from pcielab.explore.guard import MOST_BYTES
from pcielab.explore.question import FIRST, Question, Systems
from pcielab.library.profiles.keys import keys_of
from shell import refuse

from .conftest import OpenTab, Served, serving
from .test_server import asked

PROVENANCE = '[provenance]\nsource = "me"\n'
SYSTEM = f'name = "mine"\ntitle = "My machine"\nbase = "gen5-x16"\n[set]\n"host.llc.ddio_ways" = 4\n{PROVENANCE}'
FABRIC = f"""name = "own"
title = "My fabric"
mps_bytes = 256
{PROVENANCE}
[hosts.server]
memory_read_ns = 100
software_ns = 0
memory_bytes = "1G"
[devices.accelerator.engine]
execution_ns = 100
tags = 64
peer_requests = 64
completion_bytes = 16
read = {{ interval_ns = 10, bytes_per_ns = 64 }}
write = {{ interval_ns = 10, bytes_per_ns = 64 }}
[[node]]
name = "root"
kind = "host"
host = "server"
[[node]]
name = "gpu"
kind = "device"
device = "accelerator"
[[link]]
upper = "root"
lower = "gpu"
generation = 5
[flows.sets]
both = [{{ source = "root", destination = "gpu" }}]
"""


@pytest.fixture
def dropped() -> Dropped:
    """A server's own files: none."""
    return Dropped(Systems(), Fabrics())


def drop(dropped: Dropped, text: str, file: str = "mine.toml") -> dict[str, str]:
    return dropped.take({"file": file, "text": text})


def test_a_system_is_listed_and_answers(dropped: Dropped) -> None:
    assert drop(dropped, SYSTEM) == {"kind": "system", "name": "mine"}
    assert dropped.systems.names[0] == "mine"
    question = Question(system="mine", sets={"link.lanes": 8})
    system = dropped.systems.resolved(question)
    assert (system.host.llc.ddio_ways, system.link.lanes) == (4, 8)
    assert "--profile mine.toml --set link.lanes=8" in taken_out(question, dropped.systems)["run"]


def test_a_fabric_is_listed_and_estimated(dropped: Dropped) -> None:
    assert drop(dropped, FABRIC) == {"kind": "fabric", "name": "own"}
    assert dropped.fabrics.listed()[0] == {"name": "own", "title": "My fabric", "sets": ["both"]}
    [flow] = dropped.fabrics.estimated({"name": "own", "set": "both"})["flows"]
    assert flow["gbytes_per_s"] > 50


def test_a_file_that_is_dropped_again_replaces_the_earlier_one(dropped: Dropped) -> None:
    drop(dropped, SYSTEM)
    dropped.systems.resolved(Question(system="mine"))
    drop(dropped, SYSTEM.replace("= 4", "= 5"))
    assert dropped.systems.resolved(Question(system="mine")).host.llc.ddio_ways == 5
    drop(dropped, FABRIC)
    drop(dropped, FABRIC.replace("My fabric", "Another"))
    assert [one["title"] for one in dropped.fabrics.listed() if one["name"] == "own"] == ["Another"]
    assert len(dropped.names) == 2


@pytest.mark.parametrize("name", ["lspci.txt", "topo.xml", "machine.json"])
def test_a_machine_becomes_a_fabric_with_paths(dropped: Dropped, name: str) -> None:
    text = {
        "lspci.txt": MACHINES["dgx"](),
        "topo.xml": NCCL,
        "machine.json": saved(machine_of_text(MACHINES["dgx"](), "lspci.txt"), "0").decode(),
    }[name]
    stem = name.partition(".")[0]
    assert drop(dropped, text, name) == {"kind": "fabric", "name": stem}
    assert dropped.fabrics.estimated({"name": stem})["flows"] == []
    asked_for = {"name": stem, "source": "gpu0", "destination": "host1"}
    found = dropped.fabrics.path(asked_for)
    assert found["nodes"][:2] == ["gpu0", "switch0"]
    assert "crosses sockets" in found["text"]
    flows = [{"source": "gpu0", "destination": "gpu1"}]
    assert dropped.fabrics.estimated({"name": stem, "flows": flows})["flows"][0]["gbytes_per_s"] > 50
    with pytest.raises(InputError, match="unknown"):
        dropped.fabrics.path({**asked_for, "source": "gpu99"})
    with pytest.raises(InputError, match="give an object"):
        dropped.fabrics.path([])


def test_a_text_of_no_machine_is_refused(dropped: Dropped) -> None:
    with pytest.raises(InputError, match=r"notes.txt: is neither a TOML file .* nor a machine"):
        drop(dropped, "hello", "notes.txt")
    with pytest.raises(InputError, match=r"guest\.txt: shows no link with both ends"):
        drop(dropped, "00:02.0 Ethernet controller [0200]: Red Hat, Inc. Virtio network device\n", "guest.txt")


REFUSED = {
    "no file name": ({"text": SYSTEM}, "missing key file"),
    "no text": ({"file": "mine.toml"}, "missing key text"),
    "a number as text": ({"file": "mine.toml", "text": 1}, "give text"),
    "an unknown key": ({"file": "mine.toml", "text": SYSTEM, "path": "/etc/passwd"}, "unknown key path"),
    "a list": ([], "give a table"),
    "a long name": ({"file": "x" * 201, "text": SYSTEM}, "at most 200 characters"),
    "a store": ({"file": "run.db", "text": "SQLite format 3"}, "pcielab explore RUN.db"),
    "no TOML": ({"file": "mine.toml", "text": "name = "}, "mine.toml: not valid TOML: "),
    "endless brackets": ({"file": "mine.toml", "text": "a = " + "[" * 50_000}, "nested too deeply"),
    "an empty file": ({"file": "mine.toml", "text": ""}, "neither a system nor a fabric"),
    "a suite": ({"file": "mine.toml", "text": "[[group]]\nfamily = 'f'\n"}, "neither a system nor a fabric"),
}
WRONG_TEXTS = {
    "an unknown key of a system": (SYSTEM.replace("ddio_ways", "ddio_way"), "did you mean"),
    "a wrong value of a system": (SYSTEM.replace("= 4", "= 99"), "at most ways"),
    "an unknown base": (SYSTEM.replace("gen5-x16", "gen5-x17"), "did you mean gen5-x16?"),
    "a path as base": (SYSTEM.replace("gen5-x16", "/etc/passwd"), "base is '/etc/passwd': give the name of"),
    "a path beside it": (SYSTEM.replace("gen5-x16", "twin.toml"), "base is 'twin.toml': give the name of"),
    "a path as host": (f'host = "../h.toml"\n{SYSTEM}', "host is '../h.toml': give the name of"),
    "a path as a part's base": (SYSTEM + '[device]\nbase = "~/d.toml"\n', "device.base is '~/d.toml': give"),
    "a number as base": (SYSTEM.replace('"gen5-x16"', "5"), "base"),
    "a name of another": (SYSTEM.replace('"mine"', '"hsw2620"'), "has this name: give another"),
    "an unknown end": (FABRIC.replace('lower = "gpu"', 'lower = "gpus"'), "gpus"),
    "a fabric without links": (FABRIC.partition("[[link]]")[0], "link"),
    "a wrong kind": (FABRIC.replace('kind = "device"', 'kind = "toaster"'), "toaster"),
    "a fabric's name": (FABRIC.replace('"own"', '"fabrex-u55c"'), "has this name: give another"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_file_is_refused(dropped: Dropped, case: str) -> None:
    asked_for, expected = REFUSED[case]
    with pytest.raises(InputError) as refused:
        dropped.take(asked_for)
    assert expected in str(refused.value)
    assert dropped.names == set()


@pytest.mark.parametrize("case", WRONG_TEXTS)
def test_a_wrong_file_is_refused_with_its_name(dropped: Dropped, case: str) -> None:
    text, expected = WRONG_TEXTS[case]
    with pytest.raises(InputError) as refused:
        drop(dropped, text)
    assert expected in str(refused.value)
    assert str(refused.value).startswith("mine.toml: ")
    assert dropped.names == set()
    assert "mine" not in dropped.systems.names
    assert "own" not in dropped.fabrics.names


def test_a_fabric_that_is_too_large_to_draw_is_refused(dropped: Dropped) -> None:
    node = '[[node]]\nname = "{0}"\nkind = "device"\ndevice = "accelerator"\n'
    link = '[[link]]\nupper = "root"\nlower = "{0}"\n'
    leaves = [(node + link).format(f"d{number}") for number in range(NODES_MOST)]
    with pytest.raises(InputError, match=f"has {NODES_MOST + 2} nodes"):
        drop(dropped, FABRIC.partition("[flows")[0] + "".join(leaves))


def test_the_number_of_files_is_limited(dropped: Dropped) -> None:
    for number in range(FILES_MOST):
        drop(dropped, FABRIC.replace('"own"', f'"own{number}"'))
    drop(dropped, FABRIC.replace('"own"', '"own0"'))
    with pytest.raises(InputError, match=f"has {FILES_MOST} files"):
        drop(dropped, FABRIC)


def test_the_first_row_has_keys_of_the_system_that_a_page_opens_on() -> None:
    systems = Systems()
    system = systems.resolved(systems.opening)
    keys = {key.key for key in keys_of(system.system, system.source_of)}
    assert keys >= set(FIRST) - {"host.load.cores"}, "a Gen5 host that says nothing about load"
    assert (systems.opening.system, systems.opening.cache, system.link.generation) == (
        "gen5-x16",
        "device-warm",
        5,
    )
    assert Systems({"mine": "mine.toml"}).opening.system == "mine"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Served]:
    """A server that was given a system and a fabric."""
    (tmp_path / "system.toml").write_text(SYSTEM)
    (tmp_path / "fabric.toml").write_text(FABRIC)
    with serving("--stay", tmp_path / "system.toml", tmp_path / "fabric.toml") as served:
        yield served


def answer(served: Served, name: str, question: object) -> Any:
    status, found = asked(served, name, question)
    assert status == 200, found
    return found


def test_given_and_dropped_files_are_served(own: Served) -> None:
    assert answer(own, "fabrics", {})[0]["name"] == "own"
    assert answer(own, "answer", {"system": "mine"})["title"] == "My machine"
    other = {"file": "other.toml", "text": SYSTEM.replace('"mine"', '"other"')}
    assert answer(own, "drop", other) == {"kind": "system", "name": "other"}
    assert answer(own, "answer", {"system": "other"})["title"] == "My machine"
    status, found = asked(own, "drop", {"file": "wrong.toml", "text": SYSTEM})
    assert (status, found["problem"]) == (
        422,
        "wrong.toml: name is mine: a system of the server has this name: give another",
    )
    status, found = asked(own, "drop", {"file": "long.toml", "text": " " * MOST_BYTES})
    assert (status, found["problem"]) == (413, "the request is too long: send at most 2 MiB")


def test_a_given_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text("[[group]]\n")
    assert "suite.toml: is neither a system nor a fabric" in refuse(
        "explore", "--no-browser", tmp_path / "suite.toml"
    )


DROP = """([file, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], file));
  for (const type of ["dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def test_files_are_dropped_on_pages(open_tab: OpenTab, tmp_path: Path) -> None:
    tab = open_tab("/?system=snb&size=128")
    tab.settle()
    tab.page.evaluate(DROP, ["wrong.toml", SYSTEM.replace("= 4", "= 99")])
    tab.until(lambda: "wrong.toml" in tab.page.inner_text("#problem"), "the error's text")
    assert "at most ways" in tab.page.inner_text("#problem")
    tab.page.evaluate(DROP, ["page.toml", SYSTEM.replace('"mine"', '"dropped"')])
    tab.until(lambda: tab.address == "?system=dropped&size=128", "the system in the address")
    tab.settle()
    assert tab.page.locator("#system").input_value() == "dropped"
    (tmp_path / "own.toml").write_text(FABRIC)
    tab.page.set_input_files("#file", tmp_path / "own.toml")
    tab.until(lambda: "/fabrics?" in tab.page.url and tab.data("settled"), "the page of fabrics")
    assert tab.page.locator('#tree [data-node="gpu"]').count() == 1
    assert tab.page.locator("#flows tbody tr").count() == 1
    assert [text for text in tab.complaints if "422" not in text] == []


def test_a_dropped_machine_shows_its_tree_and_the_path_between_two_devices(open_tab: OpenTab) -> None:
    tab = open_tab("/fabrics?name=fabrex-u55c&none=1")
    tab.until(lambda: tab.data("settled"), "the tree")
    tab.page.evaluate(DROP, ["server.txt", MACHINES["dual-socket"]()])
    tab.until(lambda: "name=server" in tab.page.url and tab.data("settled"), "the machine's page")
    for node in ("gpu0", "nic0"):
        box = tab.page.locator(f'#tree [data-node="{node}"]').bounding_box()
        assert box is not None
        tab.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.until(lambda: tab.page.locator("#path").is_visible(), "the path")
    assert "gpu0 to nic0, across sockets" in tab.page.inner_text("#path-text")
    assert tab.page.locator("#flows tbody tr").count() == 0
    assert tab.complaints == []
