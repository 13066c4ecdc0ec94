"""Carry out the first block of CONTRIBUTING.md in a fresh clone, as a new contributor would: `make first-hour`.

Every command starts with an empty environment, a new HOME and a short PATH. Kept is what a machine has before
anyone works on it: where Rust is installed (RUSTUP_HOME and CARGO_HOME, else the folders of this user), how
packages are reached (PIP_*, UV_*, certificates, proxies) and which interpreter `python3` is. `make test` is left
to continuous integration, which runs it in a fresh clone. The clone is of the last commit: commit first.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_TO_CI = "make test"
NEEDED = ("python3", "cargo", "make", "git", "cc")
KEPT = ("PIP_", "UV_", "SSL_", "CARGO_NET_", "CARGO_HTTP_", "RUSTUP_AUTO_")
KEPT_WHOLE = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "LANG")
OF_THIS_TREE = ("PIP_CONSTRAINT", "UV_CONSTRAINT")
"""Set by this tree's own `make`."""


def commands(page: str) -> list[str]:
    """The commands of the first fenced block of a page, without comments.

    Raises:
        ValueError: The page has no such block.
    """
    block = re.search(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    if block is None:
        raise ValueError("CONTRIBUTING.md: no block of sh: the first one must have the commands of the first hour")
    lines = (shlex.join(shlex.split(line, comments=True)) for line in block[1].splitlines())
    return [line for line in lines if line]


def environment(home: Path) -> dict[str, str]:
    """The environment of a new user of this machine."""
    user = Path.home()
    kept = {
        name: value
        for name, value in os.environ.items()
        if (name.startswith(KEPT) or name in KEPT_WHOLE) and name not in OF_THIS_TREE
    }
    rust = {"RUSTUP_HOME": user / ".rustup", "CARGO_HOME": user / ".cargo"}
    found = {name: os.environ.get(name, str(folder)) for name, folder in rust.items()}
    found = {name: folder for name, folder in found.items() if Path(folder).is_dir()}
    return {"HOME": str(home), "PATH": os.pathsep.join(_path()), **kept, **found}


def _path() -> Iterator[str]:
    """The folders of the programs that are needed, and those of the system."""
    folders = dict.fromkeys([*(_folder(program) for program in NEEDED), "/usr/local/bin", "/usr/bin", "/bin"])
    yield from (folder for folder in folders if folder)


def _folder(program: str) -> str:
    # The interpreter's own folder: a shim of a version manager would look for its files in HOME.
    found = str(Path(sys.base_prefix) / "bin" / "python3") if program == "python3" else shutil.which(program)
    return str(Path(found).parent) if found else ""


def main() -> None:
    """Clone, run, and stop at the first command that fails."""
    with tempfile.TemporaryDirectory(prefix="first-hour-") as folder:
        home, clone = Path(folder) / "home", Path(folder) / "pcielab"
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", "--no-local", str(ROOT), str(clone)], check=True)
        variables = environment(home)
        for command in commands((clone / "CONTRIBUTING.md").read_text(encoding="utf-8")):
            if command == LEFT_TO_CI:
                print(f"left to continuous integration: {command}", flush=True)
                continue
            print(f"$ {command}", flush=True)
            done = subprocess.run(["bash", "-c", command], cwd=clone, env=variables, check=False)
            if done.returncode != 0:
                sys.exit(
                    f"error: CONTRIBUTING.md: {command}: failed with exit code {done.returncode} in a fresh clone"
                )
    print("every command of the first hour works")


if __name__ == "__main__":
    main()
