"""Messages of cores to a device, by stores and by descriptors."""

from pcielab.kinds.messages.rows import with_connections
from pcielab.store.kinds import NUMBER, TEXT, WHOLE, Columns

COLUMNS = Columns(
    types={
        **dict.fromkeys(("way", "pace", "sharing", "eviction", "store_kind", "connections"), TEXT),
        **dict.fromkeys(("messages", "cores", "lanes", "generation", "store_bytes", "stores_up_to_bytes"), WHOLE),
        "pressure": NUMBER,
    },
    shown=(
        *("way", "generation", "lanes", "cores", "sharing", "eviction", "pressure"),
        *("store_bytes", "store_kind", "pace", "stores_up_to_bytes", "connection"),
    ),
    heads={
        "sharing": "queues",
        "store_bytes": "store (B)",
        "store_kind": "stores",
        "stores_up_to_bytes": "stores up to (B)",
    },
    noun="rows",
    rows=with_connections,
)
