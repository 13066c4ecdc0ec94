"""Frames through a NIC."""

from pcielab.store.kinds import NUMBER, TEXT, WHOLE, Columns

COLUMNS = Columns(
    types={
        "direction": TEXT,
        "line_gbps": NUMBER,
        **dict.fromkeys(("frame_bytes", "packets", "warm_up_packets", "nics"), WHOLE),
    }
)
