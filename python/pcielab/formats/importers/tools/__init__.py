"""Importers of what other tools measured: nvbandwidth, perftest and fio.

`given` has the facts that no file of a tool gives, `reading` reads numbers and JSON, `writing` writes the store.
`pcielab.kinds.tools.rows` has the rows.
"""
