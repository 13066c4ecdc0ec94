"""The tree of a machine that a store was measured on, from the lspci text that the store carries."""

from pcielab.doctor.lspci_text import read_lspci
from pcielab.doctor.tree import Tree
from pcielab.errors import InputError
from pcielab.store import Store
from pcielab.store.setup import setup_of

ATTACHMENT = "sys-lspci.txt"


def tree_of_store(store: Store) -> Tree:
    """The tree, with what the manifest says of the IOMMU.

    Raises:
        InputError: The store has no lspci text, or there is no function in it.
    """
    text = store.attachments.get(ATTACHMENT)
    if text is None:
        raise InputError(
            f"{store.path}: {store.origin}, and has no {ATTACHMENT} in it, so there is no machine to look at: "
            f"import a directory that holds one (`sudo lspci -vvv`), or give the text with --lspci"
        )
    tree = read_lspci(text, f"{store.path}, {ATTACHMENT}")
    pages = setup_of(store.manifest).iommu
    known = pages if pages in ("super-pages", "four-kib-pages") else None
    return tree.model_copy(update={"host": tree.host.model_copy(update={"iommu_pages": known})})
