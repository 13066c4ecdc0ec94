"""Read a machine's tree from a file: lspci text, saved tree or store."""

from pathlib import Path
from typing import BinaryIO

from pcielab.doctor.lspci_text import read_lspci
from pcielab.doctor.saved import read_saved
from pcielab.doctor.tree import Tree
from pcielab.errors import InputError
from pcielab.library.input_files import read_text_roughly
from pcielab.wording import byte_size

_STORE_HEAD = b"SQLite format 3\0"
_LSPCI_BYTES = 32 << 20


def read_file(path: Path) -> Tree:
    """The tree of a store that carries an lspci text, or of a file that `saved` made, whichever the content shows.

    Raises:
        InputError: It is neither, or cannot be read.
    """
    try:
        # A store is a regular file; a pipe can be read only once, so it is not probed.
        head = path.open("rb").read(len(_STORE_HEAD)) if path.is_file() else b""
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror}: give a store, or a file that `pcielab doctor --save` wrote"
        ) from error
    if head != _STORE_HEAD:
        return read_saved(path)
    # Imported here because these modules take half a second to load.
    from pcielab.doctor.stores import tree_of_store
    from pcielab.store import open_store

    return tree_of_store(open_store(path))


def read_lspci_stream(stream: BinaryIO, source: str) -> Tree:
    """The tree of a stream with the output of `lspci -vvv`.

    Args:
        stream: The stream, as standard input.
        source: Its name in messages.

    Raises:
        InputError: It is too long, or shows no PCI function.
    """
    content = stream.read(_LSPCI_BYTES + 1)
    if len(content) > _LSPCI_BYTES:
        raise InputError(f"{source}: is longer than {byte_size(_LSPCI_BYTES)}: give the text of one machine")
    return read_lspci(content.decode(errors="replace"), source)


def read_lspci_file(path: Path) -> Tree:
    """The tree of a file with the output of `lspci -vvv`.

    Raises:
        InputError: It cannot be read, or shows no PCI function.
    """
    return read_lspci(read_text_roughly(path, _LSPCI_BYTES), str(path))
