"""What other tools measured: nvbandwidth, perftest, fio and others."""

from pcielab.store.kinds import TEXT, WHOLE, Columns

_TEXTS = (
    *("tool", "direction", "beside", "counted", "engine", "pair", "part"),
    *("transport", "io_engine", "access", "state", "path", "device"),
)
COLUMNS = Columns(
    types={**dict.fromkeys((*_TEXTS, "clock"), TEXT), "queues": WHOLE},
    shown=(*_TEXTS[:7], "queues", *_TEXTS[7:], "clock"),
)
