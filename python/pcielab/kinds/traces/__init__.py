"""Recorded traces of DMA, played on a simulated host: a test for the reads of a trace, and one for its writes."""

from pcielab.store.kinds import TEXT, WHOLE, Columns

COLUMNS = Columns(
    types={"trace": TEXT, "direction": TEXT, "transfers": WHOLE},
    shown=("trace", "transfers"),
    metrics=(
        ("recorded_bandwidth", "recorded (Gb/s)", 2, 1.0),
        ("waited", "waited", 0, 1.0),
        ("average_wait", "wait (ns)", 1, 1.0),
        ("in_flight", "in flight", 1, 1.0),
    ),
)
