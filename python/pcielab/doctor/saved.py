"""Save a tree as a JSON file, to examine it on another machine.

The file identifies neither machine nor device: it has no serial numbers, MAC addresses or host name, and of the
kernel's command line only the parameters about PCI, IOMMU and power.
"""

import re
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.tree import MOST_FUNCTIONS, Record, Tree
from pcielab.errors import InputError
from pcielab.library.copied_lspci import SLOT
from pcielab.library.input_files import read_text
from pcielab.wording import named

_HEAD_LETTERS = 65_536
_OF_LSPCI = re.compile(rf"^[ \t>]*{SLOT} \S", re.MULTILINE)


class SavedTree(Record):
    """The content of the file."""

    format: Literal["pcielab-tree-1"] = "pcielab-tree-1"
    pcielab: str
    """The version that wrote it."""
    tree: Tree


@refuses_wrong_types
def saved(tree: Tree, version: str) -> bytes:
    """The file of a tree."""
    return (SavedTree(pcielab=version, tree=tree).model_dump_json(indent=1, exclude_none=True) + "\n").encode()


def read_saved(path: Path) -> Tree:
    """The tree of a file that `saved` made.

    Raises:
        InputError: It is not a saved tree, or was made by a later version.
    """
    return of_text(read_text(path), str(path))


def of_text(text: str, source: str) -> Tree:
    """The tree of the content of such a file.

    Raises:
        InputError: It is not a saved tree, or was made by a later version.
    """
    if (count := text.count('"slot"')) > MOST_FUNCTIONS:
        raise InputError(f"{source}: {count} PCI functions: give a machine of {MOST_FUNCTIONS} at most")
    try:
        found = SavedTree.model_validate_json(text)
    except ValidationError as error:
        if _OF_LSPCI.search(text, 0, _HEAD_LETTERS):
            raise InputError(
                f"{source}: the output of lspci, not a saved tree: give it with --lspci {source}"
            ) from None
        where = named(".".join(map(str, error.errors()[0]["loc"])) or "the whole file")
        raise InputError(
            f"{source}: not a saved tree ({where} is wrong): give a file that `pcielab doctor --save` wrote"
        ) from None
    return found.tree.model_copy(update={"source": source})
