"""The kinds of runs: a folder each, with all that is its own. `rooms` finds it.

| part of a folder | contents |
|---|---|
| the folder itself | types of the parameters of its tests, and what its rows are |
| `explain` | the limits of its rows |
| `compare` | how rows of two runs pair, and how a table shows a pair |
| `figures` | the figures of its reports |
| `events` | its times as trace events |

A new kind is a folder with these parts, its word in `pcielab.store.kinds.RunKind`, and its metrics in
`crates/pcie-store/src/metrics.rs`. The modules beside the folders are what several kinds share.
"""
