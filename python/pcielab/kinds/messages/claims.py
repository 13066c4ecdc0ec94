"""Sentences about figures of messages, each computed from the rows that the figure draws."""

from collections.abc import Iterator

import pandas as pd

_MOST_RUNS = 2


def ways_claims(data: pd.DataFrame, metric: str) -> Iterator[str]:
    """The payloads at which write-combined stores are ahead of descriptors, on each link."""
    for run in list(dict.fromkeys(data["run"]))[:_MOST_RUNS]:
        for link, rows in data[data["run"] == run].groupby("link", sort=False):
            table = rows.pivot_table(index="size_bytes", columns="way", values=metric).sort_index()
            if not {"write-combined", "descriptors"} <= set(table.columns):
                continue
            both = table[["write-combined", "descriptors"]].dropna()
            gain = both["write-combined"] - both["descriptors"]
            ahead = gain < 0 if metric == "median" else gain > 0
            where = f", {link}" if link else ""
            yield f"{run}{where}: write-combined stores are ahead of descriptors {_where(ahead)}."


def _where(ahead: pd.Series) -> str:
    """The sizes, in words."""
    sizes = ahead.index[ahead]
    if len(sizes) == len(ahead):
        return f"at every one of {len(ahead)} sizes"
    if sizes.empty:
        return f"at none of {len(ahead)} sizes"
    last = f"{sizes.max():,} B"
    if ahead.loc[: sizes.max()].all():
        return f"up to {last}"
    return f"at {len(sizes)} of {len(ahead)} sizes, at most {last}"
