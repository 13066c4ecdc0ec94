"""Read perftest: ib_write_bw, ib_read_bw, ib_send_bw, ib_atomic_bw and their latencies, as text or as JSON.

Each line of a report becomes a test of the store, and each port of two. Source: perftest 4.5, its formats of
output and its manual; https://github.com/linux-rdma/perftest.
"""

from pcielab.formats.importers.tools.perftest.json import read_json, read_unquoted
from pcielab.formats.importers.tools.perftest.text import BEGINS, read_report

__all__ = ["BEGINS", "read_json", "read_report", "read_unquoted"]
