"""Check that the write-combined stores of a measured run were combined: that they beat uncached ones.

The kernel may grant a write-combining mapping another memory type, and shows that to root only. The times show it
to everyone: eight stores of 8 B leave an uncached mapping as eight writes, and a write-combining one as one.
"""

from typing import TYPE_CHECKING

from pcielab.store import Store

if TYPE_CHECKING:
    import pandas as pd

FASTER = 1.1
"""Least gain of combining; it is 2 or more where each line takes several stores."""
_LINE_BYTES = 64
_ALIKE = ["pace", "size_bytes", "store_bytes", "store_kind", "cores"]
_COMBINED = {"stream": ("write-combined",), "alone": ("write-combined", "write-combined-fenced")}
"""Ways that end with the same fence as uncached stores, by pace."""


def caution(store: Store) -> str | None:
    """Say that the write-combined stores of a run are not faster than its uncached ones.

    Args:
        store: A run. Only measured messages are checked: an emulator's times mean nothing, and a simulated core
            combines by its profile.

    Returns:
        The sentence with the median gain and one pair of numbers; None if stores gain, or if no tests compare.
    """
    if not store.is_of("messages") or store.origin != "measured":
        return None
    pairs = _pairs(store.scalars)
    if pairs.empty or pairs["gain"].median() >= FASTER:
        return None
    longest = pairs.sort_values("size_bytes", kind="stable").iloc[-1]
    unit = "ns" if longest["pace"] == "alone" else "Gb/s"
    return (
        f"write-combined stores are not faster than uncached ones: {pairs['gain'].median():.2f} times as fast "
        f"(median of {len(pairs)} pairs of tests; at {longest['size_bytes']:.0f} B {longest['combined']:.4g} "
        f"against {longest['uncached']:.4g} {unit}), so they were probably not combined: {_memory_type(store)}"
    )


def _pairs(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Tests that differ in the way alone, where a line takes several stores: values, and gain in speed."""
    import pandas as pd

    needed = rows.reindex(columns=[*_ALIKE, "way", "status", "bandwidth", "median"])
    is_alone = needed["pace"] == "alone"
    needed["value"] = needed["median"].where(is_alone, needed["bandwidth"]).astype(float)
    several = (needed["size_bytes"] >= _LINE_BYTES) & (needed["store_bytes"].fillna(8) < _LINE_BYTES)
    needed = needed[several & (needed["store_kind"] != "direct") & (needed["value"] > 0)]
    combined = pd.concat(
        [needed[(needed["pace"] == pace) & needed["way"].isin(ways)] for pace, ways in _COMBINED.items()]
    )
    by_way = [rows.drop_duplicates(_ALIKE) for rows in (combined, needed[needed["way"] == "uncached"])]
    pairs = by_way[0].merge(by_way[1], on=_ALIKE, suffixes=("_combined", "_uncached"))
    pairs = pairs.rename(columns={"value_combined": "combined", "value_uncached": "uncached"})
    gain = pairs["combined"] / pairs["uncached"]
    return pairs.assign(gain=gain.where(pairs["pace"] != "alone", 1 / gain))


def _memory_type(store: Store) -> str:
    """What the run knows about the memory type of its mapping, and the next step."""
    types = (store.manifest.get("device") or {}).get("memory_types") or {}
    if types.get("write_combined"):
        return (
            f"the kernel granted {types['write_combined']}; look for an MTRR that makes the uncached mapping "
            "combine as well (/proc/mtrr), or for a device that is the limit"
        )
    return "the granted memory type is unknown; run as root, with debugfs mounted, to store it"
