"""Commands, programs and files of the documentation, in the order of the pages.

The language of a fenced block is its kind: `sh` has commands; `console`, commands after `$` with their output;
`python`, a program; `text`, the output of the program before it; `toml`, a file. The first line of `toml` is a
comment with the file's name (`# mine.toml`), or with the file to append to (`# to mine.toml`).
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FILE = re.compile(r"# (?P<added>to )?(?P<name>[\w.-]+\.toml)$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language and text, and the document and line where it begins."""

    language: str
    text: str
    origin: str


@dataclass(frozen=True)
class Command:
    """A command, and its output if the document shows it."""

    line: str
    printed: str | None = None

    @property
    def words(self) -> list[str]:
        """The words of the command, without a comment."""
        return shlex.split(self.line, comments=True)


def blocks(document: Path) -> list[Block]:
    """The fenced blocks of a document."""
    return [
        Block(token.info.strip(), token.content, f"{document.relative_to(ROOT)}:{token.map[0] + 1}")
        for token in MarkdownIt().parse(document.read_text(encoding="utf-8"))
        if token.type == "fence" and token.map is not None
    ]


def commands(block: Block) -> list[Command]:
    """The commands of a block of `sh` or `console`."""
    if block.language == "sh":
        return [Command(line) for line in block.text.splitlines() if line.strip()]
    _, *sessions = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    split = [session.partition("\n") for session in sessions]
    return [Command(line, printed) for line, _, printed in split]


def add_file(block: Block, folder: Path) -> None:
    """Write the file of a block of `toml` into `folder`, or append to it."""
    named = _FILE.match(block.text.partition("\n")[0])
    assert named is not None, f"{block.origin}: the first line must name the file: # mine.toml, or # to mine.toml"
    with (folder / named["name"]).open("a" if named["added"] else "w", encoding="utf-8") as file:
        file.write(block.text)


def mentioned(document: Path) -> Iterator[Command]:
    """Commands in running text."""
    for token in MarkdownIt("commonmark").enable("table").parse(document.read_text(encoding="utf-8")):
        for part in token.children or []:
            if part.type == "code_inline" and part.content.startswith("pcielab "):
                yield Command(part.content)
