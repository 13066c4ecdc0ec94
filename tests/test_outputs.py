"""Output files of commands: checked before the work, and never replacing files that are not outputs."""

import os
import stat
from pathlib import Path

import pytest

from pcielab.library import shipped
from shell import pcielab, refuse, succeed
from suite_texts import LSPCI

SMALL = Path(__file__).parent / "documents" / "small"
FULL = Path("/dev/full")
_SERVER = Path(__file__).parent / "lspci_texts/pciutils-3.9.txt"
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
    "explain": ("explain", "a.db", "b.db", "-o", "{}.html"),
    "fabric from": ("fabric", "from", str(_SERVER), "-o", "{}.toml"),
    "fabric explain": ("fabric", "explain", "fabrex-u55c", "-o", "{}.html"),
    "profiles skeleton": ("profiles", "skeleton", "--lspci", "published/sys-lspci.txt", "-o", "{}.toml"),
    "calibrate": ("calibrate", "published", "-o", "{}.toml"),
    "validate": ("validate", "snb", "published", "-o", "{}.html"),
}
"""Every command that writes a file or a folder; `{}` is its name without the ending."""
STORES = ("run", "run of messages", "fabric run", "import")
LONG = ("calibrate", "validate")
"""Commands that work for a minute before they write."""


@pytest.fixture
def folder(folder_of_all: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the inputs of all commands; the shipped suites are replaced by small ones."""
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
    (folder / "published" / "sys-lspci.txt").write_text(LSPCI)
    (folder / "messages.toml").write_bytes((SMALL / "messages" / "kpio.toml").read_bytes())
    return folder


def arguments(command: str, output: str) -> list[str]:
    """The words of a command that writes to `output` with its own ending."""
    return [word.format(output) for word in COMMANDS[command]]


def output(command: str, folder: Path, name: str) -> Path:
    return folder / arguments(command, name)[-1]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_in_a_missing_folder_is_refused(command: str, folder: Path) -> None:
    before = sorted(folder.iterdir())
    message = refuse(*arguments(command, "missing/new"), cwd=folder)
    assert f"{output(command, Path('missing'), 'new')}: " in message
    assert "there is no such folder" in message
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("command", LONG)
def test_an_output_is_checked_before_the_work(command: str, folder: Path) -> None:
    words = ["absent" if word == "published" else word for word in arguments(command, "missing/new")]
    assert "missing/new" in pcielab(*words, cwd=folder).stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_foreign_file_is_kept(command: str, folder: Path) -> None:
    path = output(command, folder, "mine")
    path.write_text("years of work")
    for options in ([], ["--overwrite"]):
        if options and command not in (*STORES, "export pcie-bench"):
            continue
        assert path.name in refuse(*arguments(command, "mine"), *options, cwd=folder)
        assert path.read_text() == "years of work"


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in STORES])
def test_only_a_store_replaces_a_store(command: str, folder: Path) -> None:
    path = output(command, folder, "kept")
    path.write_bytes((folder / "a.db").read_bytes())
    refuse(*arguments(command, "kept"), "--overwrite", cwd=folder)
    assert path.read_bytes() == (folder / "a.db").read_bytes()


@pytest.mark.skipif(not os.access(FULL, os.W_OK), reason="needs /dev/full")
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
    assert "is a dangling link" in refuse(*arguments(command, "link"), "--overwrite", cwd=folder)
    assert not target.exists()
    succeed(*arguments(command, "target"), cwd=folder)
    succeed(*arguments(command, "link"), "--overwrite", cwd=folder)
    assert link.is_symlink()
    assert target.exists()


@pytest.mark.parametrize(
    "command",
    [
        *(
            f"run --suite {suite} {wrong}"
            for suite in ("quick", "kpio")
            for wrong in ("--set link.lanes=3", "--seed -1", "--suite absent.toml")
        ),
        "fabric run fabrex-u55c --flows latency --duration-us 0",
        "fabric run fabrex-u55c --flows absent",
        "fabric run fabrex-u55c --suite rpciebench --seed -1",
        "import pcie-bench shipped",
    ],
)
def test_a_refused_command_keeps_the_old_store(command: str, folder: Path) -> None:
    kept = (folder / "a.db").read_bytes()
    (folder / "old.db").write_bytes(kept)
    refuse(*command.split(), "-o", "old.db", "--overwrite", cwd=folder)
    assert (folder / "old.db").read_bytes() == kept


def test_the_worst_rows_of_a_twin_are_drawn(folder: Path) -> None:
    assert "median latency" in succeed(*arguments("validate", "worst"), cwd=folder).stdout
    page = (folder / "worst.html").read_text()
    assert "Largest errors of the twin" in page
    assert page.count("data-figure=") > 1


@pytest.mark.parametrize("command", ["fabric explain", "explain"])
def test_pictures_are_drawn_for_light_and_for_dark_pages(command: str, folder: Path) -> None:
    drawn = {}
    for theme in ("light", "dark"):
        *words, _ = arguments(command, theme)
        succeed(*words, f"{theme}.svg", "--theme", theme, cwd=folder)
        drawn[theme] = (folder / f"{theme}.svg").read_text()
    word = "MODELLED" if command == "fabric explain" else "Both runs over size, with the bounds of each"
    assert word in drawn["light"]
    assert word in drawn["dark"]
    assert 'fill="#ffffff"' in drawn["light"].split(">")[1] + drawn["light"].split(">")[2]
    assert "#12161c" in drawn["dark"]
    # The light theme's text colour is unreadable on a dark page.
    assert "#1f2933" not in drawn["dark"]
