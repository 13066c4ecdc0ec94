"""Importers of what other tools print: nvbandwidth, perftest, fio, bandwidthTest, nccl-tests and others.

`output` finds the blocks of a text and gives each to the module of its tool. `pasted` takes away what is around
lines, `foreign` knows what is read by none. `given` has the facts that no file of a tool gives, `reading` reads
numbers and JSON, `writing` writes the store. `pcielab.kinds.tools.rows` has the rows.
"""
