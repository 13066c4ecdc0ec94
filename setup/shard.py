"""Print the test files of one shard: `python setup/shard.py 1/2`. Each file is in exactly one shard.

Files are dealt out in turns, sorted by name, so that a shard gets its part of every folder.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_files() -> list[str]:
    """All files that pytest collects from its `testpaths`, relative to the repository and sorted."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = project["tool"]["pytest"]["ini_options"]["testpaths"]
    return sorted(str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob("test_*.py"))


def shard(text: str) -> list[str]:
    """The test files of a shard, written as `1/2`.

    Raises:
        ValueError: The text names no shard.
    """
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise ValueError(f"shard {text!r}: must be NUMBER/COUNT, such as 1/2 or 2/2")
    return test_files()[int(number) - 1 :: int(count)]


if __name__ == "__main__":
    try:
        print(*shard(sys.argv[1]))
    except ValueError as error:
        sys.exit(f"error: {error}")
