"""Reading the text files of a published directory."""

from pathlib import Path

from pcielab.errors import InputError
from pcielab.library import input_files


def read_text(path: Path) -> str:
    """The content of a file, which must be there, be text, and not be empty; line ends stay as they are.

    Raises:
        InputError: It cannot be read, or is not text in UTF-8, or is empty.
    """
    text = input_files.read_text(path)
    if not text:
        raise InputError(f"{path}, line 1: the file is empty: copy it again")
    return text
