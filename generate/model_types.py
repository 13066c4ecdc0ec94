"""The Python models of NICs and of message profiles (`pcielab.library.nic_parts`, `message_parts`)."""

from generate.models import Models, schemas, tables_below

_NICS = '''\
"""A NIC as the model and the simulator take it: keys, ranges, defaults, meanings.

Written by `make generate` from `crates/pcie-model/src/interactions.rs`: change the types there.
"""

from typing import Annotated, Literal

{imports}
'''
_MESSAGES = '''\
"""Messages from a core to a device, as model and simulator take them: keys, ranges, meanings.

Written by `make generate` from `crates/pcie-model/src/pio/profile.rs`: change the types there.
"""

from typing import Annotated

{imports}
'''


def nics() -> str:
    """The module of NICs."""
    kinds = schemas("nic")
    models = Models(kinds)
    classes = [models.table(name) for name in tables_below(kinds, "Interactions")]
    return "\n\n".join([_NICS.format(imports=models.import_lines()), *classes])


def messages() -> str:
    """The module of message profiles, without the link, which comes from the system of a file."""
    kinds = schemas("messages")
    models = Models(kinds)
    root = "MessageProfile"
    parts = [models.table(name) for name in tables_below(kinds, root) if name not in (root, "LinkParameters")]
    whole = models.table(root, without=["link"], called="MessageTimes")
    return "\n\n".join([_MESSAGES.format(imports=models.import_lines()), *parts, whole])
