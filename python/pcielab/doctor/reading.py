"""Read a machine's tree with `crates/pcie-evidence`: from a text, from `/sys`, or from a copy of it; save it."""

from pathlib import Path

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.tree import Tree


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
