"""Read a machine's tree with `crates/pcie-evidence`, from a text, `/sys`, a file or a folder; save it."""

import re
from pathlib import Path
from typing import BinaryIO

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.tree import Tree
from pcielab.errors import refusal
from pcielab.library.input_files import read_text, read_text_roughly
from pcielab.wording import byte_size, shown

_STORE_HEAD = b"SQLite format 3\0"
_LSPCI_BYTES = 32 << 20
_NCCL_BYTES = 16 << 20
_HEAD_BYTES = 4096


@refuses_wrong_types
def machine_of_text(text: str, source: str) -> Tree:
    """The tree of a text: a saved tree, an NCCL topology, or anything that `read_lspci` reads.

    Raises:
        InputError: It is malformed, or shows nothing of a machine.
    """
    return Tree.model_validate_json(_core.read_machine(text, source))


@refuses_wrong_types
def read_lspci(text: str, source: str) -> Tree:
    """The tree that a pasted text shows.

    Args:
        text: Output of `lspci -vvv`, in any verbosity, with or without a kernel's log, `lspci -t`,
            `nvidia-smi topo -m` and prose around it.
        source: Its name in messages.

    Raises:
        InputError: It shows nothing of a machine; the message names the form that it has.
    """
    return Tree.model_validate_json(_core.read_machine(text, source, "lspci"))


@refuses_wrong_types
def read_sysfs(root: Path | None = None) -> Tree:
    """The tree of this machine, or of a copy. It is read-only, and leaves devices in D3cold asleep.

    Args:
        root: A folder with `sys` (and `proc`) in it, or a copy of `/sys` itself; None for this machine.

    Raises:
        InputError: It has no PCI functions.
    """
    return Tree.model_validate_json(_core.read_sysfs(root))


@refuses_wrong_types
def saved(tree: Tree, version: str) -> bytes:
    """The file of a tree, to examine it on another machine.

    The file identifies neither machine nor device: it has no serial numbers, MAC addresses or host name, and of
    the kernel's command line only the parameters about PCI, IOMMU and power.
    """
    return _core.saved_machine(tree.model_dump_json(), version).encode()


@refuses_wrong_types
def read_file(path: Path) -> Tree:
    """The tree of a store that carries an lspci text, or of a file that `saved` made, whichever the content shows.

    Raises:
        InputError: It is neither, or cannot be read.
    """
    try:
        # A store is a regular file; a pipe can be read only once, so it is not probed.
        head = path.open("rb").read(len(_STORE_HEAD)) if path.is_file() else b""
    except OSError as error:
        raise refusal(
            "not-allowed",
            f"{path}: cannot be read: {error.strerror}: give a store, or a file that `pcielab doctor --save` "
            "wrote",
        ) from error
    if head != _STORE_HEAD:
        return Tree.model_validate_json(_core.read_machine(read_text(path), str(path), "saved"))
    # Imported here because these modules take half a second to load.
    from pcielab.doctor.stores import tree_of_store
    from pcielab.store import open_store

    return tree_of_store(open_store(path))


@refuses_wrong_types
def read_machine(path: Path) -> Tree:
    """The tree of a folder, or of a file of any of the kinds that the doctor reads, whichever its content shows.

    Args:
        path: A store, a saved tree (JSON), an NCCL topology (XML), the output of `lspci -vvv`, `/sys` of this
            machine, or a copy of it.

    Raises:
        InputError: It cannot be read, or shows no PCI function.
    """
    if path == Path("/sys"):
        return read_sysfs()
    if path.is_dir():
        return read_sysfs(path)
    try:
        head = path.open("rb").read(_HEAD_BYTES) if path.is_file() else b""
    except OSError as error:
        raise refusal("not-allowed", f"{path}: cannot be read: {error.strerror}") from error
    if head.startswith(_STORE_HEAD) or head.lstrip().startswith(b"{"):
        return read_file(path)
    return read_nccl_file(path) if _is_xml(head) else read_lspci_file(path)


def _is_xml(head: bytes) -> bool:
    return re.match(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml|!|system\b)", head) is not None


def read_nccl_file(path: Path) -> Tree:
    """The tree of a topology that NCCL dumps (`NCCL_TOPO_DUMP_FILE`).

    Raises:
        InputError: It cannot be read, is not well-formed, or shows no device.
    """
    text = read_text(path, _NCCL_BYTES)
    return Tree.model_validate_json(_core.read_machine(text, str(path), "topology"))


@refuses_wrong_types
def read_lspci_stream(stream: BinaryIO, source: str) -> Tree:
    """The tree of a stream with the output of `lspci -vvv`.

    Args:
        stream: The stream, as standard input.
        source: Its name in messages.

    Raises:
        InputError: It is too long, or shows no PCI function.
    """
    if not hasattr(stream, "read"):
        raise TypeError(f"read_lspci_stream: stream is {shown(stream)}: give a BinaryIO")
    content = stream.read(_LSPCI_BYTES + 1)
    if len(content) > _LSPCI_BYTES:
        raise refusal(
            "too-large", f"{source}: is longer than {byte_size(_LSPCI_BYTES)}: give the text of one machine"
        )
    return machine_of_text(content.decode(errors="replace"), source)


@refuses_wrong_types
def read_lspci_file(path: Path) -> Tree:
    """The tree of a file with the output of `lspci -vvv`.

    Raises:
        InputError: It cannot be read, or shows no PCI function.
    """
    return machine_of_text(read_text_roughly(path, _LSPCI_BYTES), str(path))
