"""A tree as a file, to be looked at elsewhere: JSON of what was read, and nothing that names one machine or card.

A tree has no serial numbers, no MAC addresses, no host name; of the kernel's command line only the parameters
about PCI, IOMMU and power.
"""

from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from pcielab.doctor.tree import MOST_FUNCTIONS, Record, Tree
from pcielab.errors import InputError
from pcielab.library.input_files import read_text
from pcielab.wording import named


class SavedTree(Record):
    """The file."""

    format: Literal["pcielab-tree-1"] = "pcielab-tree-1"
    pcielab: str
    """The version that wrote it."""
    tree: Tree


def saved(tree: Tree, version: str) -> bytes:
    """The file of a tree."""
    return (SavedTree(pcielab=version, tree=tree).model_dump_json(indent=1, exclude_none=True) + "\n").encode()


def read_saved(path: Path) -> Tree:
    """The tree of a file that `saved` made.

    Raises:
        InputError: It is none, or of a later version.
    """
    text = read_text(path)
    if (count := text.count('"slot"')) > MOST_FUNCTIONS:
        raise InputError(f"{path}: {count} PCI functions: give a machine of {MOST_FUNCTIONS} at most")
    try:
        found = SavedTree.model_validate_json(text)
    except ValidationError as error:
        where = named(".".join(map(str, error.errors()[0]["loc"])) or "the whole file")
        raise InputError(
            f"{path}: is no saved tree ({where} is not as it should be): give a file that `pcielab doctor --save` "
            "wrote"
        ) from None
    return found.tree.model_copy(update={"source": str(path)})
