"""Lines of a memory expander behind CXL.mem: a test for each load."""

from pcielab.store.kinds import NUMBER, TEXT, WHOLE, Columns

COLUMNS = Columns(
    types={
        "expander": TEXT,
        **dict.fromkeys(("read_share", "load"), NUMBER),
        **dict.fromkeys(("cores", "fill_buffers", "lines"), WHOLE),
    },
    shown=("expander", "read_share", "load"),
    heads={"read_share": "reads"},
    metrics=(
        ("modelled_average", "modelled (ns)", 1, 1.0),
        ("peak_bandwidth", "peak, modelled (Gb/s)", 1, 1.0),
        ("in_flight", "in flight", 1, 1.0),
    ),
)
