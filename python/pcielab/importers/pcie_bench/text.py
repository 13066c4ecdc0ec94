"""Reading the text files of a published directory."""

from pathlib import Path

from pcielab.errors import InputError


def read_text(path: Path) -> str:
    """The content of a file, which must be there, be text, and not be empty; line ends stay as they are.

    Raises:
        InputError: It cannot be read, or is not text in UTF-8, or is empty.
    """
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}, byte {error.start}: is not text in UTF-8: the file is damaged or foreign"
        ) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if not text:
        raise InputError(f"{path}, line 1: the file is empty: copy it again")
    return text
