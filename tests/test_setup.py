"""What `make` checks as it installs: Rust's version first and, after a failure, the package index."""

import os
import re
import runpy
import socket
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from unittest.mock import patch

import pytest

ROOT = Path(__file__).parents[1]
OLDEST = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["rust-version"]
APT = """
case "$2" in {cases} esac
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the only programs on PATH: what the check itself needs."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("bash", "dirname", "sed", "sort"):
        [found] = [path for path in (Path("/usr/bin") / name, Path("/bin") / name) if path.exists()][:1]
        (folder / name).symlink_to(found)
    return folder


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!{folder / 'bash'}\n{script}\n")
    (folder / name).chmod(0o755)


def apt(folder: Path, **candidates: str) -> None:
    """An apt-cache that offers these packages; `_` in a name stands for `-`."""
    cases = "".join(
        f"{name.replace('_', '-')}) echo '  Candidate: {version}' ;;\n" for name, version in candidates.items()
    )
    program(folder, "apt-cache", APT.format(cases=f"{cases}*) echo '  Candidate: (none)' ;;\n"))


def check(folder: Path) -> "subprocess.CompletedProcess[str]":
    words = [str(ROOT / "setup" / "check_rust.sh")]
    return subprocess.run(words, env={"PATH": str(folder)}, capture_output=True, text=True, check=False)


def rust(folder: Path, cargo: str, rustc: str) -> None:
    program(folder, "cargo", f"echo 'cargo {cargo} (0123456 2025-01-01)'")
    program(folder, "rustc", f"echo 'rustc {rustc} (0123456 2025-01-01)'")


@pytest.mark.parametrize("version", [f"{OLDEST}.0", "1.100.1", "2.0.0", f"{OLDEST}.0-nightly"])
def test_rust_that_is_new_enough_passes_silently(version: str, programs: Path) -> None:
    rust(programs, version, version)
    done = check(programs)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("cargo", "rustc", "old"),
    [
        ("1.63.0", "1.63.0", "cargo 1.63.0"),
        (f"{OLDEST}.0", "1.9.0", "rustc 1.9.0"),
        ("1.85.1", "1.96.0", "cargo 1.85.1"),
    ],
)
def test_an_old_rust_is_named_with_its_path(cargo: str, rustc: str, old: str, programs: Path) -> None:
    rust(programs, cargo, rustc)
    done = check(programs)
    path = programs / old.partition(" ")[0]
    assert done.returncode == 1
    assert f"error: {path} is too old: {old}: pcielab needs Rust {OLDEST} or newer\n" in done.stderr
    assert "https://rustup.rs" in done.stderr


def test_a_machine_without_rust_is_told_at_once(programs: Path) -> None:
    assert f"error: cargo is not installed: pcielab needs Rust {OLDEST} or newer\n" in check(programs).stderr


def test_a_cargo_that_fails_is_shown_with_its_reason(programs: Path) -> None:
    program(programs, "cargo", "echo 'error: no default toolchain' >&2; exit 1")
    program(programs, "rustup", "")
    done = check(programs)
    assert done.returncode == 1
    assert f"{programs / 'cargo'} does not run: error: no default toolchain" in done.stderr
    assert done.stderr.endswith("fix: rustup default stable && rustup update stable\n")


def test_packages_of_the_distribution_are_named_if_they_are_new_enough(programs: Path) -> None:
    apt(programs, rustc="1.63.0+dfsg1-2", rustc_web="1.96.0+dfsg1-1~deb12u2")
    fixes = re.findall(r"fix: (.*)", check(programs).stderr)
    assert fixes[0] == "apt install cargo-web rustc-web rustfmt-web rust-web-clippy (Rust 1.96.0)"
    assert "rustup.rs" in fixes[1]
    apt(programs, rustc="1.93.1ubuntu1", rustup="1.27.1-3")
    assert re.findall(r"fix: (.*)", check(programs).stderr) == [
        "apt install cargo rustc rustfmt rust-clippy (Rust 1.93.1)",
        "apt install rustup && rustup default stable",
    ]


@pytest.mark.parametrize("target", ["demo", "dev", "build", "test"])
def test_make_checks_rust_before_anything_else(target: str, programs: Path, tmp_path: Path) -> None:
    rust(programs, "1.63.0", "1.63.0")
    words = ["make", "--no-print-directory", f"VENV={tmp_path / 'venv'}", target]
    path = f"{programs}:/usr/bin:/bin"
    done = subprocess.run(
        words, cwd=ROOT, env={"PATH": path, "HOME": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert done.stderr.startswith(f"error: {programs / 'cargo'} is too old: cargo 1.63.0")
    assert done.stdout == ""
    assert not (tmp_path / "venv").exists()


def said_of_index(address: str) -> str:
    words = [sys.executable, str(ROOT / "setup" / "check_index.py")]
    variables = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    variables |= {"UV_DEFAULT_INDEX": address}
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr


def test_an_index_that_cannot_be_reached_is_named_without_its_password() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens
        port = taken.getsockname()[1]
        said = said_of_index(f"http://user:secret@127.0.0.1:{port}/simple")
    assert said.startswith(f"error: the package index http://127.0.0.1:{port}/simple cannot be reached (")
    assert "PIP_INDEX_URL" in said
    assert "secret" not in said


class Refusing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(401)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def refusing_index() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()
        thread.join()


def test_an_index_that_answers_is_not_blamed(refusing_index: str) -> None:
    assert said_of_index(refusing_index) == ""


def test_every_test_file_is_in_exactly_one_shard() -> None:
    of = runpy.run_path(str(ROOT / "setup" / "shard.py"))
    for count in (1, 2, 5):
        shards = [of["shard"](f"{number}/{count}") for number in range(1, count + 1)]
        assert sorted(name for shard in shards for name in shard) == of["test_files"]()
        assert max(map(len, shards)) - min(map(len, shards)) <= 1
    assert "tests/test_setup.py" in of["test_files"]()
    assert "python/pcielab/test_subpackages_on_demand.py" in of["test_files"]()


@pytest.mark.parametrize("text", ["", "0/2", "3/2", "1", "1/", "/2", "1/0", "-1/2", "a/b"])
def test_no_other_text_is_a_shard(text: str) -> None:
    with pytest.raises(ValueError, match="such as 1/2"):
        runpy.run_path(str(ROOT / "setup" / "shard.py"))["shard"](text)


def test_a_tree_is_adopted_by_another_environment(tmp_path: Path) -> None:
    venv.create(tmp_path / "other", symlinks=True)
    adopt = runpy.run_path(str(ROOT / "setup" / "adopt.py"))["adopt"]
    adopt(tmp_path / "other")
    words = [str(tmp_path / "other" / "bin" / "python"), "-c", "import pcielab; print(pcielab.__file__)"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"{ROOT / 'python' / 'pcielab' / '__init__.py'}\n"
    command = tmp_path / "other" / "bin" / "pcielab"
    assert command.read_text().startswith(f"#!{words[0]}\n")
    assert os.access(command, os.X_OK)
    with (
        patch.dict(adopt.__globals__, EXTENSION=ROOT / "absent.so"),
        pytest.raises(FileNotFoundError, match="make build"),
    ):
        adopt(tmp_path / "other")


def test_the_floor_has_the_lower_bound_of_every_dependency() -> None:
    floor = runpy.run_path(str(ROOT / "setup" / "floor.py"))
    lock = (ROOT / "floor.lock").read_text(encoding="utf-8")
    pins = dict(re.findall(r"(?m)^([\w.-]+)==([\w.]+)", lock))
    bounds = floor["bounds"]()
    assert {"pydantic", "scipy", "cuda-bindings", "cocotb", "salib"} <= bounds.keys()
    # 1.8 and 12 stand for the first of their releases: 1.8.0, 12.535.77.
    wrong = {name: pins[name] for name, bound in bounds.items() if not f"{pins[name]}.".startswith(f"{bound}.")}
    assert wrong == {}, "run make lock"


def test_the_first_hour_is_read_from_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hour = runpy.run_path(str(ROOT / "setup" / "first_hour.py"))
    commands = hour["commands"]((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert commands[0] == "make dev"
    assert commands.count(hour["LEFT_TO_CI"]) == 1
    assert hour["commands"]("# Page\n\n```sh\nmake dev  # first\n\nls 'a b'\n```\n\n```sh\nlater\n```\n") == [
        "make dev",
        "ls 'a b'",
    ]
    with pytest.raises(ValueError, match="no block of sh"):
        hour["commands"]("no commands")
    monkeypatch.setenv("PCIELAB_DATA", "/data")
    monkeypatch.setenv("UV_CONSTRAINT", "requirements.lock")
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.invalid/simple")
    variables = hour["environment"](tmp_path)
    assert variables["HOME"] == str(tmp_path)
    assert variables["PIP_INDEX_URL"] == "http://index.invalid/simple"
    assert not {"PCIELAB_DATA", "UV_CONSTRAINT", "VIRTUAL_ENV"} & variables.keys()


def test_the_readme_names_the_oldest_rust_and_python() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"Rust {OLDEST} or newer" in readme
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in readme
