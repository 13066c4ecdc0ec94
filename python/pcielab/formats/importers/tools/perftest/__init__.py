"""Import perftest: ib_write_bw, ib_read_bw, ib_send_bw and their latencies, as text or as JSON (`--out_json`).

Each line of a report becomes a test of the store. Source: perftest 4.5, its formats of output and its manual;
https://github.com/linux-rdma/perftest.
"""

from pathlib import Path

from pcielab.formats.importers.tools.given import Given
from pcielab.formats.importers.tools.perftest.json import read_json
from pcielab.formats.importers.tools.perftest.text import read_report
from pcielab.formats.importers.tools.reading import read_text
from pcielab.formats.importers.tools.writing import Measured, write
from pcielab.outputs import check_new_store


def import_perftest(
    file: str | Path, output: str | Path, *, given: Given | None = None, overwrite: bool = False
) -> None:
    """Read a report of perftest and write it as a store.

    Args:
        file: The text of the client, or the file of `--out_json`.
        output: The store to create.
        given: Facts about the machine.
        overwrite: Replace an existing file.

    Raises:
        InputError: The file is foreign, truncated or damaged, a given fact is wrong, or the output is refused;
            nothing has been written.
    """
    file, output = Path(file), Path(output)
    check_new_store(output, overwrite=overwrite)
    text = read_text(file)
    write(read_perftest(text, file), given or Given(), file, text, output, overwrite=overwrite)


def read_perftest(text: str, file: Path) -> Measured:
    """The tests in a report of perftest; `file` is for errors.

    Raises:
        InputError: The text is foreign, truncated or damaged.
    """
    is_json = text.lstrip()[:1] == "{" or text.lstrip().startswith("test_info")
    return (read_json if is_json else read_report)(text, file)


__all__ = ["import_perftest", "read_perftest"]
