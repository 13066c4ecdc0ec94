"""What commands write, and where: tried before the work, and never in place of what is no output."""

import os
import stat
from pathlib import Path

import pytest

from pcielab.library import shipped
from shell import pcielab, succeed

SMALL = Path(__file__).parent / "documents" / "small"
FULL = Path("/dev/full")
COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("run", "--test", "bw-rd", "-o", "{}.db"),
    "run of messages": ("run", "--suite", "messages.toml", "-o", "{}.db"),
    "fabric run": ("fabric", "run", "fabrex-u55c", "--flows", "latency", "--duration-us", "20", "-o", "{}.db"),
    "import": ("import", "pcie-bench", "published", "-o", "{}.db"),
    "export json": ("export", "json", "a.db", "-o", "{}.json"),
    "export csv": ("export", "csv", "a.db", "-o", "{}.csv"),
    "export parquet": ("export", "parquet", "a.db", "-o", "{}.parquet"),
    "export pcie-bench": ("export", "pcie-bench", "a.db", "-o", "{}.d"),
    "report": ("report", "a.db", "-o", "{}.html"),
    "compare": ("compare", "a.db", "b.db", "-o", "{}.html"),
    "explain": ("explain", "a.db", "b.db", "--picture", "{}.svg"),
    "fabric explain": ("fabric", "explain", "fabrex-u55c", "--picture", "{}.svg"),
    "profiles skeleton": ("profiles", "skeleton", "--lspci", "published/sys-lspci.txt", "-o", "{}.toml"),
    "calibrate": ("calibrate", "published", "-o", "{}.toml"),
    "validate": ("validate", "snb", "published", "-o", "{}.html"),
}
"""Every command that writes something; `{}` is what that is called, but for its ending."""
STORES = ("run", "run of messages", "fabric run", "import")
LONG = ("calibrate", "validate")
"""What works for a minute before it writes."""


@pytest.fixture
def folder(folder_of_all: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the commands read, under the names that they are given; suites are the small ones."""
    for path in folder_of_all.iterdir():
        (tmp_path / path.name).symlink_to(path)
    root = tmp_path / "shipped"
    root.mkdir()
    (root / "profiles").symlink_to(shipped.directory("profiles").resolve())
    (root / "suites").symlink_to(SMALL)
    monkeypatch.setattr(shipped, "_ROOT", root)
    return tmp_path


@pytest.fixture(scope="module")
def folder_of_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("all")
    for name, changes in (("a", ()), ("b", ("--set", "host.root_complex.read_ns=300"))):
        succeed("run", "--profile", "snb", "--suite", SMALL / "paper.toml", *changes, "-o", folder / f"{name}.db")
    succeed("export", "pcie-bench", folder / "a.db", "-o", folder / "published")
    (folder / "published" / "sys-lspci.txt").write_text(
        "3b:00.0 Ethernet controller: Netronome Systems, Inc. Device 6000\n"
        "\tControl: I/O- Mem+ BusMaster+ SpecCycle-\n"
        "\tCapabilities: [c0] Express (v2) Endpoint, MSI 00\n"
        "\t\tDevCtl: MaxPayload 256 bytes, MaxReadReq 512 bytes\n"
        "\t\tLnkCtl: ASPM Disabled; RCB 64 bytes Disabled- CommClk+\n"
        "\t\tLnkSta: Speed 8GT/s, Width x8, TrErr- Train-\n"
    )
    (folder / "messages.toml").write_bytes((SMALL / "messages" / "kpio.toml").read_bytes())
    return folder


def arguments(command: str, output: str) -> list[str]:
    """The words of a command that writes to `output`, whatever its ending."""
    return [word.format(output) for word in COMMANDS[command]]


def output(command: str, folder: Path, name: str) -> Path:
    return folder / arguments(command, name)[-1]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_in_a_folder_that_is_missing_is_refused(command: str, folder: Path) -> None:
    before = sorted(folder.iterdir())
    done = pcielab(*arguments(command, "missing/new"), cwd=folder)
    assert done.exit_code == 2, done.stderr
    assert f"{output(command, Path('missing'), 'new')}: " in done.stderr
    assert "there is no such folder" in done.stderr
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("command", LONG)
def test_an_output_is_tried_before_the_work(command: str, folder: Path) -> None:
    words = ["absent" if word == "published" else word for word in arguments(command, "missing/new")]
    assert "missing/new" in pcielab(*words, cwd=folder).stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_there_is_kept(command: str, folder: Path) -> None:
    place = output(command, folder, "mine")
    place.write_text("years of work")
    for options in ([], ["--overwrite"]):
        if options and command not in (*STORES, "export pcie-bench"):
            continue
        done = pcielab(*arguments(command, "mine"), *options, cwd=folder)
        assert done.exit_code == 2, done.stderr
        assert place.name in done.stderr
        assert place.read_text() == "years of work"


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in STORES])
def test_a_store_is_replaced_by_nothing_but_a_store(command: str, folder: Path) -> None:
    place = output(command, folder, "kept")
    place.write_bytes((folder / "a.db").read_bytes())
    done = pcielab(*arguments(command, "kept"), "--overwrite", cwd=folder)
    assert done.exit_code == 2, done.stderr
    assert place.read_bytes() == (folder / "a.db").read_bytes()


@pytest.mark.skipif(not os.access(FULL, os.W_OK), reason="there is no /dev/full")
@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in LONG])
def test_a_device_is_never_replaced(command: str, folder: Path) -> None:
    link = output(command, folder, "full")
    link.symlink_to(FULL)
    done = pcielab(*arguments(command, "full"), "--overwrite", cwd=folder)
    assert done.exit_code in (1, 2), done.stderr
    assert "defect" not in done.stderr
    assert stat.S_ISCHR(FULL.stat().st_mode)
    assert link.is_symlink()


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in LONG])
def test_a_link_is_followed_and_a_dangling_one_refused(command: str, folder: Path) -> None:
    link, target = output(command, folder, "link"), output(command, folder, "target")
    link.symlink_to(target.name)
    done = pcielab(*arguments(command, "link"), "--overwrite", cwd=folder)
    assert done.exit_code == 2, done.stderr
    assert "is a link to something that is not there" in done.stderr
    assert not target.exists()
    succeed_in(folder, *arguments(command, "target"))
    succeed_in(folder, *arguments(command, "link"), "--overwrite")
    assert link.is_symlink()
    assert target.exists()


@pytest.mark.parametrize("refused", [("--set", "link.lanes=3"), ("--seed", "-1"), ("--suite", "absent.toml")])
@pytest.mark.parametrize("kind", ["quick", "kpio"])
def test_a_refused_run_leaves_the_old_store(kind: str, refused: tuple[str, ...], folder: Path) -> None:
    kept = (folder / "a.db").read_bytes()
    (folder / "old.db").write_bytes(kept)
    done = pcielab("run", "--suite", kind, *refused, "-o", "old.db", "--overwrite", cwd=folder)
    assert done.exit_code == 2, done.stderr
    assert (folder / "old.db").read_bytes() == kept


@pytest.mark.parametrize(
    "refused",
    [
        ("fabric", "run", "fabrex-u55c", "--flows", "latency", "--duration-us", "0"),
        ("fabric", "run", "fabrex-u55c", "--flows", "absent"),
        ("fabric", "run", "fabrex-u55c", "--suite", "rpciebench", "--seed", "-1"),
        ("import", "pcie-bench", "shipped"),
    ],
)
def test_what_is_refused_leaves_the_old_store(refused: tuple[str, ...], folder: Path) -> None:
    kept = (folder / "a.db").read_bytes()
    (folder / "old.db").write_bytes(kept)
    done = pcielab(*refused, "-o", "old.db", "--overwrite", cwd=folder)
    assert done.exit_code == 2, done.stderr
    assert (folder / "old.db").read_bytes() == kept


def test_the_worst_rows_of_a_twin_are_drawn(folder: Path) -> None:
    done = succeed_in(folder, *arguments("validate", "worst"))
    assert "median latency" in done
    page = (folder / "worst.html").read_text()
    assert "Where the twin is furthest from the measurements" in page
    assert page.count("data-figure=") > 1


@pytest.mark.parametrize("command", ["fabric explain", "explain"])
def test_pictures_are_drawn_for_light_and_for_dark_pages(command: str, folder: Path) -> None:
    drawn = {}
    for theme in ("light", "dark"):
        succeed_in(folder, *arguments(command, theme), "--theme", theme)
        drawn[theme] = output(command, folder, theme).read_text()
    word = "MODELLED" if command == "fabric explain" else "What moves each test"
    assert word in drawn["light"]
    assert word in drawn["dark"]
    assert 'fill="#ffffff"' in drawn["light"].split(">")[1] + drawn["light"].split(">")[2]
    assert "#12161c" in drawn["dark"]
    # Ink of the one theme cannot be read on the page of the other.
    assert "#1f2933" not in drawn["dark"]


def succeed_in(folder: Path, *words: str) -> str:
    done = pcielab(*words, cwd=folder)
    assert done.exit_code == 0, done.stderr
    return done.stdout
