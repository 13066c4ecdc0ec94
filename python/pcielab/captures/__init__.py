r"""Captures of PCIe packets: what bound the transfers, each transaction, and other cuts on a simulated host.

    from pcielab import captures

    found = captures.explain("analyser.pcapng")
    print(*found.sentences, sep="\\n")
    for row in captures.transactions("analyser.pcapng", kind="read", tag=5):
        print(row["record"], row["last_after_ns"])

`docs/reference/captures.md` lists the formats. Times are from the starts of packets.
"""

from pcielab.captures.explained import Cut, Explanation, Share, Violation, explain
from pcielab.captures.listed import Transaction, convert, transactions
from pcielab.captures.on_hosts import PlayedCut, better_cuts, device_trace, record
from pcielab.captures.reading import Reading

__all__ = [
    "Cut",
    "Explanation",
    "PlayedCut",
    "Reading",
    "Share",
    "Transaction",
    "Violation",
    "better_cuts",
    "convert",
    "device_trace",
    "explain",
    "record",
    "transactions",
]
