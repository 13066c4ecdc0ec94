"""An InputError has its parts as attributes, so that programs need not parse its text."""

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

import pcielab
from pcielab import InputError, _core, fabric, model
from pcielab.doctor import Tree, examine, machine_of_text
from pcielab.errors import KINDS_OF_REFUSALS, KindOfRefusal, found_in
from pcielab.library import shipped
from pcielab.store import open_store
from pcielab.sweeps.journal import Journal

Parts = tuple[str | None, str | None, str | None, str | None]
"""Subject, key, value and remedy."""


def parts_of(action: Callable[[], object]) -> Parts:
    with pytest.raises(InputError) as refused:
        action()
    error = refused.value
    return error.subject, error.key, error.value, error.remedy


def link(**changed: int) -> model.Link:
    return model.Link(**({"generation": 3, "lanes": 8, "mps_bytes": 256, "mrrs_bytes": 512} | changed))


def wrong_system(part: str, key: str, value: object) -> str:
    system = json.loads(pcielab.load_system("snb").to_json())
    system[part][key] = value
    return json.dumps(system)


def wrong_suite() -> str:
    suite = json.loads(pcielab.load_suite("quick").to_json())
    suite["tests"][2]["parameters"]["transactions"] = 0
    return json.dumps(suite)


def wrong_traffic() -> dict[str, list[object]]:
    flow = {"name": "F1", "source": "nobody", "destination": "A", "primitive": "h2d", "size_bytes": 64}
    return {key: [value] for key, value in (flow | {"outstanding": 1, "socket": 0}).items()}


WRONG_TEST = "suite quick: test 2 (lat_cmd_sizes, LAT_CMD_WRRD)"


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (lambda: model.bandwidth(link(generation=9), [64]), (None, "generation", "9", "give 1 to 7")),
        (lambda: model.bandwidth(link(), [0]), (None, "size_bytes", "0", "give ")),
        (lambda: model.bandwidth(link(), [-1]), (None, "sizes_bytes", "-1", "give ")),
        (
            lambda: _core.System.of_json(wrong_system("link", "mps_bytes", 100)),
            ("system snb", "link.mps_bytes", "100", ""),
        ),
        (lambda: _core.System.of_json(wrong_system("link", "tags", 0)), ("system snb", "link.tags", "0", "")),
        (
            lambda: _core.Suite.of_json("transfers", wrong_suite()),
            (WRONG_TEST, "transactions", "0", "give 1 to 4294967295"),
        ),
        (
            lambda: _core.fabric_check_traffic(fabric.load("fabrex-u55c").handle, wrong_traffic()),
            ("flow F1", "source", "nobody", ""),
        ),
    ],
)
def test_an_error_consists_of_its_parts(action: Callable[[], object], expected: Parts) -> None:
    with pytest.raises(InputError) as refused:
        action()
    error = refused.value
    assert (error.subject, error.key, error.value) == expected[:3]
    assert error.remedy is not None
    assert error.remedy.startswith(expected[3] or "")
    head = ": ".join(part for part in (error.subject, f"{error.key} is {error.value}") if part)
    assert str(error).startswith(f"{head}: ")
    assert str(error).endswith(f": {error.remedy}")


def test_a_file_is_the_subject_and_its_key_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "nic.toml"

    def read() -> None:
        with found_in(path):
            model.bandwidth(link(lanes=3), [64])

    subject, key, value, _ = parts_of(read)
    assert (subject, key, value) == (str(path), "lanes", "3")


def test_a_key_of_a_file_that_is_out_of_range(tmp_path: Path) -> None:
    path = tmp_path / "link.toml"
    good = shipped.profile_files("link")["gen3-x8"].read_text()
    path.write_text(good.replace("mps_bytes = 256", "mps_bytes = 100"))
    subject, key, value, _ = parts_of(lambda: pcielab.library.profiles.check_file("link", path))
    assert (subject, key, value) == (str(path), "mps_bytes", "100")


def test_an_error_raised_in_python_has_only_the_parts_given() -> None:
    assert parts_of(lambda: (_ for _ in ()).throw(InputError("wrong"))) == (None, None, None, None)


def toml(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(f'name = "mine"\ntitle = "Mine"\n{text}')
    return path


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("tags = oops", "malformed"),
        ('base = "snb"\ntags = 3', "unknown-key"),
        ("iommu = 'off'", "missing"),
        ('base = "snb"\n[set]\n"link.tags" = 0', "out-of-range"),
        ('base = "snb"\n[set]\n"link.tags" = "many"', "wrong-type"),
        ('base = "snb"\n[set]\n"link.lanes" = 3', "wrong-value"),
        ('base = "no-such-system"', "not-found"),
    ],
)
def test_a_refused_system_says_what_kind_of_thing_is_wrong(tmp_path: Path, text: str, kind: str) -> None:
    with pytest.raises(InputError) as refused:
        pcielab.load_system(str(toml(tmp_path, text)))
    assert (refused.value.kind, kind in KINDS_OF_REFUSALS) == (kind, True), refused.value


def topology(elements: str) -> Tree:
    """The machine of a topology of NCCL."""
    return machine_of_text(f"<system>{elements}</system>", "topology.xml")


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        (lambda: pcielab.load_system("no-such-system"), "not-found"),
        (lambda: _core.read_size("many", "--size"), "malformed"),
        (lambda: model.bandwidth(link(generation=9), [64]), "wrong-value"),
        (lambda: model.bandwidth(link(), [64], limits=model.Limits(tags=0, round_trip_ns=500.0)), "out-of-range"),
        (lambda: model.bandwidth(link(), [64], limits=model.Limits(tags=8)), "missing"),
        (lambda: _core.Suite.of_json("transfers", "{"), "malformed"),
        (lambda: _core.System.of_json(" " * (9 << 20)), "too-large"),
        (lambda: fabric.load("fabrex-u55c", ["node.S.delay_ns=-1"]), "out-of-range"),
        (lambda: fabric.load("fabrex-u55c", ["node.S.delay=1"]), "unknown-key"),
        (lambda: _core.fabric_check_traffic(fabric.load("fabrex-u55c").handle, wrong_traffic()), "not-found"),
        (lambda: topology("<cpu>" * 70 + "</cpu>" * 70), "too-large"),
        (lambda: topology('<pci busid="0000:00:01.0"/><pci busid="0000:00:01.0"/>'), "conflict"),
        (lambda: topology('<pci busid="1"/>'), "malformed"),
        (lambda: examine(topology('<pci busid="0000:00:01.0"/>'), symptom="blue"), "wrong-value"),
    ],
)
def test_a_refusal_says_what_kind_of_thing_is_wrong(action: Callable[[], object], kind: str) -> None:
    with pytest.raises(InputError) as refused:
        action()
    assert refused.value.kind == kind, refused.value


def written(path: Path, content: str = "") -> Path:
    path.write_text(content)
    return path


def cut_store(folder: Path) -> Path:
    """A store that ends in its middle."""
    path = folder / "cut.db"
    pcielab.run(pcielab.single_test("bw-rd", size=64), profile="snb", output=path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return path


def held(folder: Path) -> None:
    """Open the journal of a sweep twice."""
    with Journal(folder), Journal(folder):
        pass


def stored(folder: Path) -> None:
    """Write a store over a file that is none."""
    _core.StoreWriter.create(written(folder / "notes.txt", "mine"), '{"origin": "simulated"}', overwrite=True)


def later(folder: Path) -> Path:
    """A store that a later version wrote."""
    path = folder / "later.db"
    pcielab.run(pcielab.single_test("bw-rd", size=64), profile="snb", output=path)
    content = bytearray(path.read_bytes())
    content[60:64] = (10**6).to_bytes(4, "big")
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        ("unknown-key", lambda _: pcielab.load_system("snb").with_(no_such_key=1)),
        ("missing", lambda _: model.bandwidth(link(), [64], limits=model.Limits(tags=8))),
        ("wrong-type", lambda _: pcielab.run(3)),
        ("out-of-range", lambda _: pcielab.Frames(model.load_nic("simple-nic"), [64], nics=99)),
        ("wrong-value", lambda _: model.bandwidth(link(lanes=3), [64])),
        ("conflict", lambda _: pcielab.RunOptions(resume=True, overwrite=True)),
        ("not-found", lambda folder: open_store(folder / "no.db").tests),
        ("too-large", lambda _: _core.System.of_json(" " * (9 << 20))),
        ("malformed", lambda folder: open_store(written(folder / "text.db", "text")).tests),
        ("unsupported", lambda folder: open_store(later(folder)).tests),
        ("damaged", lambda folder: open_store(cut_store(folder)).tests),
        ("in-use", held),
        ("exists", lambda folder: _core.check_file(written(folder / "a.csv"), overwrite=False)),
        ("exists", stored),
        ("not-allowed", lambda folder: _core.check_file(folder / "no" / "a.csv", overwrite=False)),
    ],
)
def test_every_kind_of_refusal_is_raised(
    kind: KindOfRefusal, action: Callable[[Path], object], tmp_path: Path
) -> None:
    with pytest.raises(InputError) as refused:
        action(tmp_path)
    assert refused.value.kind == kind, refused.value


def test_both_halves_know_the_same_kinds() -> None:
    assert list(get_args(KindOfRefusal)) == KINDS_OF_REFUSALS


def test_every_refusal_of_python_has_a_kind() -> None:
    """`refusal` makes them: only `errors.py` calls `InputError` itself."""
    package = Path(pcielab.__file__).parent
    modules = [path for path in package.rglob("*.py") if not path.name.startswith("test_")]
    without = [
        f"{path.relative_to(package)}:{call.lineno}"
        for path in modules
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("InputError")
    ]
    assert [line for line in without if not line.startswith("errors.py")] == []
