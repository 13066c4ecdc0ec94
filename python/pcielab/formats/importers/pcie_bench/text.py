"""Read the text files of a published folder."""

from pathlib import Path

from pcielab.errors import refusal
from pcielab.library import input_files


def read_text(path: Path) -> str:
    """The content of a file, with its line ends."""
    text = input_files.read_text(path)
    if not text:
        raise refusal("damaged", f"{path}, line 1: the file is empty: copy it again")
    return text
