"""Import nvbandwidth, text or JSON, versions 0.2 to 0.10.

nvbandwidth measures copies between host and GPUs, and between GPUs, and prints a table for each test. Each cell
of a table becomes a test of the store, and so does the sum of several. Neither form gives the size of the buffer.

Source: the program's own output; https://github.com/NVIDIA/nvbandwidth, its README.
"""

from pathlib import Path

from pcielab.errors import InputError
from pcielab.formats.importers.tools.given import Given
from pcielab.formats.importers.tools.nvbandwidth.json import read_json
from pcielab.formats.importers.tools.nvbandwidth.text import read_tables
from pcielab.formats.importers.tools.reading import read_text
from pcielab.formats.importers.tools.writing import Measured, write
from pcielab.outputs import check_new_store


def import_nvbandwidth(
    file: str | Path,
    output: str | Path,
    *,
    given: Given | None = None,
    size_bytes: int | None = None,
    last_test: str | None = None,
    overwrite: bool = False,
) -> None:
    """Read the output of nvbandwidth and write it as a store.

    Args:
        file: Its text, or what it prints with `-j`.
        output: The store to create.
        given: Facts about the machine.
        size_bytes: Size of the buffer (`nvbandwidth -b`).
        last_test: Name of the last test that ran; a text without a closing note does not show that it is whole.
        overwrite: Replace an existing file.

    Raises:
        InputError: The file is foreign, truncated or damaged, a given fact is wrong, or the output is refused;
            nothing has been written.
    """
    file, output = Path(file), Path(output)
    check_new_store(output, overwrite=overwrite)
    text = read_text(file)
    found = read_nvbandwidth(text, file, size_bytes=size_bytes, last_test=last_test)
    write(found, given or Given(), file, text, output, overwrite=overwrite)


def read_nvbandwidth(
    text: str, file: Path, *, size_bytes: int | None = None, last_test: str | None = None
) -> Measured:
    """The tests in the output of nvbandwidth; arguments as for `import_nvbandwidth`, `file` is for errors.

    Raises:
        InputError: The text is foreign, truncated or damaged.
    """
    if text.lstrip()[:1] != "{":
        return read_tables(text, file, size_bytes, last_test)
    if last_test is not None:
        raise InputError(f"--last {last_test}: {file} is JSON, which shows that it is whole: leave out --last")
    return read_json(text, file, size_bytes)


__all__ = ["import_nvbandwidth", "read_nvbandwidth"]
