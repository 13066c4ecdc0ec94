"""The tree of the machine of a store, from the lspci text that the store carries."""

from pcielab import _core
from pcielab.doctor.tree import Tree
from pcielab.errors import refusal
from pcielab.store import Store
from pcielab.store.setup import setup_of

ATTACHMENT = "sys-lspci.txt"


def tree_of_store(store: Store) -> Tree:
    """The tree, with the IOMMU setting of the manifest.

    Raises:
        InputError: The store has no lspci text, or the text shows no function.
    """
    text = store.attachments.get(ATTACHMENT)
    if text is None:
        raise refusal(
            "missing",
            f"{store.path}: {store.origin}, without the machine's {ATTACHMENT}: "
            "import a folder that holds one (`sudo lspci -vvv`), or give the text with --lspci",
        )
    tree = Tree.model_validate_json(_core.read_machine(text, f"{store.path}, {ATTACHMENT}", "lspci"))
    pages = setup_of(store.manifest).iommu
    known = pages if pages in ("super-pages", "four-kib-pages") else None
    return tree.model_copy(update={"host": tree.host.model_copy(update={"iommu_pages": known})})
